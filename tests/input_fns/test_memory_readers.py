"""Arrays and frames: values, defaults, and what does not fit."""

import numpy as np
import pandas as pd
import pytest
from genever.input_fns import (
    ArrayReader,
    FrameReader,
    InputError,
    Schema,
    bad_records,
    reader_input_fn,
)

pytestmark = pytest.mark.core


def read(reader, **kwargs):
    return list(reader_input_fn(reader, **{"batch_size": 100, **kwargs}))


def test_arrays_without_a_schema():
    features = {
        "x": np.arange(6.0).reshape(3, 2),
        "n": [1, 2, 3],
        "s": np.array(["a", "ä", ""]),
    }
    [(batch, label)] = read(ArrayReader(features, labels=[0.5, 1.5, 2.5]))
    assert batch["x"].numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert batch["x"].dtype == "float32"
    assert batch["n"].numpy().tolist() == [1, 2, 3]
    assert batch["n"].dtype == "int64"
    assert batch["s"].numpy().tolist() == [b"a", "ä".encode(), b""]
    assert label.numpy().tolist() == [0.5, 1.5, 2.5]


def test_label_by_name_and_by_schema():
    data = {"x": np.ones((2, 3)), "y": [1.0, 2.0], "unused": np.zeros(7)}
    schema = Schema({"x": {"shape": 3}, "y": {}}, label="y")
    for reader in (
        ArrayReader({"x": data["x"], "y": data["y"]}, labels="y"),
        ArrayReader(data, schema=schema),
        ArrayReader({"x": data["x"]}, labels=data["y"], schema=schema),
    ):
        [(features, label)] = read(reader)
        assert list(features) == ["x"]
        assert label.numpy().tolist() == [1, 2]
    [features] = read(ArrayReader({"x": data["x"]}))
    assert features["x"].shape == (2, 3)


ARRAY_MISTAKES = [
    ({"features": {"x": [1, 2], "y": [1, 2, 3]}}, "'y' has 3 rows and 'x' has 2"),
    ({"features": {"x": [1, 2]}, "labels": [1]}, "'labels' has 1 rows and 'x' has 2"),
    ({"features": {"x": [1, 2]}, "labels": "z"}, "labels names 'z', which is not among"),
    ({"features": {}}, "ArrayReader.features is dict; give a dict of name to array"),
    ({"features": {"x": []}}, "there are no rows"),
    ({"features": {"x": 1.0}}, "'x' is a single value; give an array of rows"),
    ({"features": {"x": np.array([1j])}}, "'x' has the dtype complex128"),
]


@pytest.mark.parametrize(("kwargs", "message"), ARRAY_MISTAKES)
def test_array_mistake_is_named(kwargs, message):
    with pytest.raises(ValueError) as caught:
        ArrayReader(**kwargs)
    assert message in str(caught.value)


def test_array_against_schema():
    schema = Schema({"x": {"shape": [2]}, "late": {}}, label="late")
    with pytest.raises(InputError, match=r"no array 'late', which the schema names; did you mean"):
        ArrayReader({"x": np.ones((2, 2)), "lat": [1, 2]}, schema=schema)
    with pytest.raises(InputError, match=r"a row of 'x' has the shape \[3\], but Schema.features"):
        ArrayReader({"x": np.ones((2, 3)), "late": [1, 2]}, schema=schema)
    with pytest.raises(InputError, match=r"has labels \('labels'\), but Schema.label is none"):
        ArrayReader({"x": [1.0]}, labels=[1], schema=Schema({"x": {}}))


FRAME = pd.DataFrame(
    {
        "s": pd.Series(["a", None, "c"]),
        "cat": pd.Categorical(["u", "v", "u"]),
        "i": pd.array([1, None, 3], dtype="Int64"),
        "f": [1.5, float("nan"), 2.5],
        "whole": [1.0, 2.0, 3.0],
        "b": [True, False, True],
        "v_0": [1, 2, 3],
        "v_1": [4, 5, 6],
        "code": [7, 8, 9],
    }
)


def test_frame_columns_and_defaults():
    schema = Schema(
        {
            "s": {"hash_buckets": 5, "default": "none"},
            "cat": {"vocabulary": ["u", "v"]},
            "i": {"num_buckets": 5, "default": 0},
            "f": {"default": -1},
            "whole": {"dtype": "int64"},
            "v": {"shape": [2]},
            "code": {"dtype": "string"},
            "b": {},
        },
        label="b",
    )
    for frame in (FRAME, lambda: FRAME, FRAME.set_index(pd.Index([9, 5, 7]))):
        [(features, label)] = read(FrameReader(frame, schema))
        assert features["s"].numpy().tolist() == [b"a", b"none", b"c"]
        assert features["cat"].numpy().tolist() == [b"u", b"v", b"u"]
        assert features["i"].numpy().tolist() == [1, 0, 3]
        assert features["f"].numpy().tolist() == [1.5, -1, 2.5]
        assert features["whole"].numpy().tolist() == [1, 2, 3]
        assert features["v"].numpy().tolist() == [[1, 4], [2, 5], [3, 6]]
        assert features["code"].numpy().tolist() == [b"7", b"8", b"9"]
        assert label.numpy().tolist() == [1, 0, 1]


FRAME_MISTAKES = [
    ({"g": {}}, "the frame has no column 'g', which the schema names; it has s, cat, i"),
    ({"hole": {}}, "the frame has no column 'hole', which the schema names; did you mean 'whole'?"),
    ({"v": {"shape": [3]}}, "the frame has no column 'v_2', which the schema names; did you mean"),
    ({"f": {}}, "the frame, record 2: 'f' has no value and the feature has no default."),
    ({"f": {"dtype": "int64"}}, "record 1: 'f' is 1.5, not an int64"),
    ({"i": {"num_buckets": 4}}, "record 2: 'i' has no value"),
    ({"s": {"default": 0.0}}, "record 1: 's' is 'a', not a float32"),
    ({"cat": {"dtype": "int64"}}, "record 1: 'cat' is 'u', not an int64"),
    ({"whole": {"dtype": "string"}}, "record 1: 'whole' is 1.0, not a string"),
]


@pytest.mark.parametrize(("features", "message"), FRAME_MISTAKES)
def test_frame_mistake_is_named(features, message):
    with pytest.raises(InputError) as caught:
        reader_input_fn(FrameReader(FRAME, Schema(features)), batch_size=2)
    assert message in str(caught.value)


def test_frame_names_the_index_and_must_be_a_frame():
    frame = FRAME.set_index(pd.Index(["p", "q", "r"]))
    with pytest.raises(InputError, match=r"the frame, record 2 \(index q\): 'f' has no value"):
        reader_input_fn(FrameReader(frame, Schema({"f": {}})), batch_size=2)
    with pytest.raises(ValueError, match=r"FrameReader\.frame is list; give a pandas DataFrame"):
        FrameReader([1], Schema({"f": {}}))


def test_bad_rows_are_skipped_and_counted_up_to_the_limit():
    frame = pd.DataFrame({"x": [0.0, None, 2.0, None, 4.0]})
    schema = Schema({"x": {}})
    [features] = read(FrameReader(frame, schema), max_bad_records=2)
    assert features["x"].numpy().tolist() == [0, 2, 4]
    assert bad_records()["the frame"] == 2
    with pytest.raises(
        InputError, match=r"record 4: .*malformed record 2 and max_bad_records is 1"
    ):
        read(FrameReader(frame, schema), max_bad_records=1)


def test_data_is_not_in_the_graph():
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        reader = ArrayReader({"x": np.random.default_rng(0).normal(size=(100_000, 4))})
        dataset = reader_input_fn(reader, batch_size=7, shuffle_buffer_size=1)
        batch = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
        assert batch["x"].shape.as_list() == [None, 4]
        assert graph.as_graph_def().ByteSize() < 100_000


def test_iterator_can_be_saved(tmp_path):
    import tensorflow as tf

    reader = ArrayReader({"i": np.arange(30)})
    dataset = reader_input_fn(reader, 4, shuffle_buffer_size=30, seed=1, num_epochs=2)
    whole = [features["i"].numpy().tolist() for features in dataset]
    iterator = iter(dataset)
    for _ in range(9):
        next(iterator)
    saved = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "ckpt"))
    resumed = iter(dataset)
    tf.train.Checkpoint(iterator=resumed).restore(saved)
    assert [features["i"].numpy().tolist() for features in resumed] == whole[9:]
