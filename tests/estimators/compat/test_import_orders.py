"""Whatever is imported first: a working bridge, or one clear sentence. Each case is a process."""

import importlib.metadata

import pytest

pytestmark = pytest.mark.core

TF_2_15 = importlib.metadata.version("tensorflow").startswith("2.15.")
KERAS_2 = "keras.api._v2.keras" if TF_2_15 else "tf_keras.api._v2.keras"

SHOW = """
    import tensorflow as tf
    from tensorflow.keras.layers import Dense
    print(tf.estimator.Estimator.__module__)
    print(tf.compat.v1.estimator.Estimator.__mro__[0].__name__)
    print(tf.keras.layers.Dense is Dense, Dense.__module__.split(".src")[0])
    print(tf.compat.v1.layers.dense.__module__.split(".src")[0])
    print(tf.compat.v1.keras.__name__.split(".api")[0])
"""
SHOWN = [
    "tensorflow_estimator.python.estimator.estimator",
    "Estimator",
    f"True {KERAS_2.split('.')[0]}",
    KERAS_2.split(".")[0],
    KERAS_2.split(".")[0],
]


@pytest.mark.parametrize(
    "first",
    [
        "import genever",
        "import tensorflow.compat.v1; import genever",
        "import keras; import genever",
        "import tensorflow as tf; tf.constant(1); tf.data.Dataset.range(3); import genever",
        "import genever; import tensorflow.compat.v1 as tf; tf.estimator.Estimator",
        "import genever; import gin.tf, gin.tf.external_configurables",
        "import gin.tf.utils" if TF_2_15 else "import genever; import gin.tf.utils",
        "import genever; import tensorflow_estimator",
        "import genever; from tensorflow.keras import layers",
    ],
)
def test_estimators_and_keras_2_are_whole(output_of, first):
    assert output_of(f"{first}\n" + SHOW.replace("\n    ", "\n"))[-5:] == SHOWN


def test_import_of_genever_imports_neither_tensorflow_nor_gin(output_of):
    program = """
        import sys
        import genever.estimators.compat
        print([name for name in ("tensorflow", "keras", "tf_keras", "gin", "numpy")
               if name in sys.modules])
    """
    assert output_of(program) == ["[]"]


def test_import_paths_lead_to_the_same_classes(output_of):
    program = """
        import genever
        from tensorflow.estimator import Estimator, RunConfig
        from tensorflow.compat.v1.estimator import Estimator as EstimatorV1
        from tensorflow.compat.v1.estimator import tpu
        from tensorflow.compat.v2.estimator import BaselineClassifier
        from tensorflow.estimator.export import PredictOutput
        import tensorflow.estimator.experimental as experimental
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        from tensorflow.python.estimator.estimator import Estimator as old
        from tensorflow.python.estimator.canned.head import _regression_head
        from tensorflow.python.estimator.inputs.queues import feeding_functions
        from tensorflow.python.estimator import run_config, estimator_lib
        from tensorflow.python.estimator.keras import model_to_estimator
        from tensorflow_estimator.python.estimator import estimator, estimator_export
        assert Estimator is tf.estimator.Estimator is estimator.EstimatorV2
        assert EstimatorV1 is tf.compat.v1.estimator.Estimator is tf1.estimator.Estimator
        assert EstimatorV1 is estimator.Estimator is old
        assert RunConfig is run_config.RunConfig is tf.estimator.RunConfig
        assert tpu.TPUEstimator is tf1.estimator.tpu.TPUEstimator
        assert BaselineClassifier is tf.compat.v2.estimator.BaselineClassifier
        assert PredictOutput is tf.estimator.export.PredictOutput
        assert experimental.InMemoryEvaluatorHook is tf.estimator.experimental.InMemoryEvaluatorHook
        assert "estimator" in tf.__all__
        try:
            import tensorflow.python.estimator.nothing
        except ModuleNotFoundError as error:
            print(error)
    """
    assert output_of(program) == ["No module named 'tensorflow.python.estimator.nothing'"]


@pytest.mark.parametrize(
    "used", ["tf.keras.layers", "tf.compat.v1.keras.layers", "import tensorflow.keras.layers"]
)
def test_keras_3_in_use_is_refused_in_one_sentence(run_python, used):
    program = f"""
        import tensorflow as tf
        {used}
        for attempt in 1, 2:
            try:
                import genever
            except ImportError as error:
                print(error)
        print(hasattr(tf, "estimator"))
    """
    ended = run_python(program)
    assert ended.returncode == 0, ended.stderr
    if TF_2_15:
        assert ended.stdout == "True\n"
        return
    name = "tf.compat.v1.keras" if "v1" in used else "tf.keras"
    sentence = (
        f"{name} is already bound to Keras 3, which Estimators cannot use: import genever before "
        "TensorFlow is used, or set the environment variable TF_USE_LEGACY_KERAS=1 (set it to 0 to "
        "keep Keras 3 and do without canned Estimators)."
    )
    assert ended.stdout.splitlines() == [sentence, sentence, "False"]


def test_the_choice_of_keras_is_the_users(output_of):
    program = """
        import os
        import genever
        import tensorflow as tf
        print(os.environ.get("TF_USE_LEGACY_KERAS"), tf.keras.Model.__module__.split(".")[0])
        print(tf.estimator.Estimator.__name__)
    """
    kept = output_of(program, TF_USE_LEGACY_KERAS="0")
    assert kept == ["0 keras", "EstimatorV2"]
    chosen = output_of(program)
    assert chosen == ["None keras" if TF_2_15 else "1 tf_keras", "EstimatorV2"]


def test_own_model_fn_trains_without_tf_keras(output_of):
    program = """
        import sys
        sys.modules["tf_keras"] = None
        import genever
        import tensorflow as tf

        def model_fn(features, labels, mode):
            v1 = tf.compat.v1
            w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
            loss = tf.reduce_mean(tf.square(features * w - labels))
            step = v1.train.GradientDescentOptimizer(0.1).minimize(
                loss, v1.train.get_or_create_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

        def input_fn():
            return tf.data.Dataset.from_tensors(([1.0, 2.0], [3.0, 6.0])).repeat(50)

        estimator = tf.estimator.Estimator(model_fn, "model")
        estimator.train(input_fn)
        print(round(float(estimator.get_variable_value("w")), 4), estimator.evaluate(
            input_fn, steps=1)["global_step"])
    """
    assert output_of(program) == ["3.0 50"]


def test_children_of_multiprocessing_spawn_have_the_bridge(output_of):
    program = """
        import genever
        import multiprocessing

        def child(queue):
            import tensorflow as tf
            queue.put((tf.estimator.Estimator.__name__, tf.keras.__name__))

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            print(*queue.get(timeout=120))
            process.join(60)
            print(process.exitcode)
    """
    assert output_of(program) == [f"EstimatorV2 {KERAS_2}", "0"]


def test_threads_may_install_at_the_same_time(output_of):
    program = """
        import importlib
        import sys
        import threading

        start = threading.Barrier(8)
        failures = []

        def work(name):
            start.wait(60)
            try:
                importlib.import_module(name)
                from genever.estimators import compat
                compat.install()
                import tensorflow as tf
                tf.estimator.Estimator
            except BaseException as error:
                failures.append(repr(error))

        names = ["tensorflow", "genever"] * 4
        threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in names]
        [thread.start() for thread in threads]
        [thread.join(120) for thread in threads]
        print(failures, [thread.is_alive() for thread in threads].count(True))
        print(sum(type(finder).__name__ == "_RemovedModules" for finder in sys.meta_path))
    """
    # TensorFlow 2.15 imports distutils, for which setuptools' finder imports itself while it holds
    # the lock of all imports: two threads then wait for each other, with or without Genever.
    without_finder = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"}
    assert output_of(program, **without_finder) == ["[] 0", "0" if TF_2_15 else "1"]
