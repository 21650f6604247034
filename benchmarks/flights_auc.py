"""Held-out AUC of wide & deep and of logistic regression, same flights, same features.

    python benchmarks/flights_auc.py [--model_dir D]

Trains `flights_wide_deep.gin` (or takes the finished run in `--model_dir`) and scikit-learn's
LogisticRegression on the features of the same schema: categories one-hot encoded, numbers
standardised. The process exits 1 if wide & deep is the worse one.
"""

import argparse
import sys
import tempfile
import time

import gin
from genever import train_and_evaluate
from genever.input_fns import Schema, flights_frame
from genever.launch.config import load


def wide_deep() -> float:
    """Returns the AUC of the last checkpoint, training it where the run is not finished."""
    metrics, _ = train_and_evaluate()
    return float(metrics["auc"])


def logistic_regression() -> float:
    """Returns the AUC of scikit-learn's LogisticRegression."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    schema = Schema()
    inputs = schema.inputs.values()
    categories = [feature.name for feature in inputs if feature.categorical]
    numbers = [feature.name for feature in inputs if not feature.categorical]
    defaults = {f.name: f.default for f in inputs if f.default is not None}
    split = {}
    for scope in ("train", "eval"):
        with gin.config_scope(scope):
            split[scope] = flights_frame().fillna(defaults)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories), (StandardScaler(), numbers)
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    model.fit(split["train"], split["train"][schema.label.name])
    predicted = model.predict_proba(split["eval"])[:, 1]
    return float(roc_auc_score(split["eval"][schema.label.name], predicted))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model_dir", help="folder of a finished run; trains anew if left out")
    parser.add_argument("--gin_param", action="append", default=[], help="a binding, repeatable")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        load(["flights_wide_deep.gin"], arguments.gin_param, arguments.model_dir or scratch)
        rows = []
        for name, measure in (
            ("wide & deep", wide_deep),
            ("LogisticRegression", logistic_regression),
        ):
            started = time.monotonic()
            rows.append((name, measure(), time.monotonic() - started))
    print(f"{'model':<20} {'held-out AUC':>12} {'seconds':>8}")
    for name, auc, seconds in rows:
        print(f"{name:<20} {auc:>12.4f} {seconds:>8.1f}")
    return 0 if rows[0][1] >= rows[1][1] else 1


if __name__ == "__main__":
    sys.exit(main())
