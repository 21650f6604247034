"""Order, epochs, batches and shards, the same for each kind of reader."""

import gin
import numpy as np
import pytest
from genever.input_fns import ArrayReader, CsvReader, Schema, TFRecordReader, reader_input_fn

pytestmark = pytest.mark.core

ROWS = 53
SCHEMA = Schema({"i": {"dtype": "int64"}})


def make_array(folder):
    return ArrayReader({"i": np.arange(ROWS)}, schema=SCHEMA)


def make_csv(folder):
    (folder / "a.csv").write_text("i\n" + "".join(f"{i}\n" for i in range(ROWS)))
    return CsvReader(str(folder / "a.csv"), SCHEMA)


def make_csv_files(folder):
    for part, numbers in enumerate(np.array_split(np.arange(ROWS), 5)):
        (folder / f"p{part}.csv").write_text("i\n" + "".join(f"{i}\n" for i in numbers))
    return CsvReader(str(folder / "p*.csv"), SCHEMA)


def make_tfrecord(folder):
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(folder / "a.tfrecord")) as writer:
        for i in range(ROWS):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
            features = tf.train.Features(feature={"i": value})
            writer.write(tf.train.Example(features=features).SerializeToString())
    return TFRecordReader(str(folder / "a.tfrecord"), SCHEMA)


@pytest.fixture(params=[make_array, make_csv, make_csv_files, make_tfrecord])
def reader(request, tmp_path):
    return request.param(tmp_path)


def batches(reader, batch_size=10, **kwargs):
    return [
        features["i"].numpy().tolist() for features in reader_input_fn(reader, batch_size, **kwargs)
    ]


def rows(reader, **kwargs):
    return [row for batch in batches(reader, **kwargs) for row in batch]


def test_batches_in_order_with_remainder(reader):
    assert batches(reader) == [list(range(at, min(at + 10, ROWS))) for at in range(0, ROWS, 10)]
    assert batches(reader, drop_remainder=True)[-1] == list(range(40, 50))
    dataset = reader_input_fn(reader, 10, drop_remainder=True)
    assert dataset.element_spec["i"].shape.as_list() == [10]


def test_epochs(reader):
    assert rows(reader, num_epochs=3) == [*range(ROWS)] * 3
    sizes = [len(batch) for batch in batches(reader, num_epochs=2)]
    assert sizes == [10] * 10 + [6]
    endless = reader_input_fn(reader, ROWS, num_epochs=None)
    assert len(list(endless.take(7))) == 7


def test_shuffle_is_a_new_permutation_each_epoch_and_the_same_for_a_seed(reader):
    kwargs = {"shuffle_buffer_size": ROWS, "num_epochs": 3}
    first = rows(reader, seed=3, **kwargs)
    epochs = [first[at : at + ROWS] for at in range(0, 3 * ROWS, ROWS)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(ROWS))
        assert epoch != list(range(ROWS))
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert rows(reader, seed=3, **kwargs) == first
    assert rows(reader, seed=4, **kwargs) != first


def test_without_a_seed_each_run_has_another_order(reader):
    first, second = (rows(reader, shuffle_buffer_size=ROWS) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second


def test_shuffle_in_a_session_is_the_same_for_a_seed(reader):
    import tensorflow as tf

    def run():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            dataset = reader_input_fn(reader, ROWS, shuffle_buffer_size=ROWS, seed=5, num_epochs=2)
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
            batch = iterator.get_next()["i"]
            session.run(iterator.initializer)
            return [session.run(batch).tolist() for _ in range(2)]

    first = run()
    assert first[0] != first[1]
    assert sorted(first[0]) == sorted(first[1]) == list(range(ROWS))
    assert run() == first


@pytest.mark.parametrize("shuffle", [0, ROWS])
@pytest.mark.parametrize("seed", [None, 7])
def test_shards_are_disjoint_complete_and_even(reader, shuffle, seed):
    import tensorflow as tf

    shares = []
    for pipeline in range(3):
        context = tf.distribute.InputContext(3, pipeline, 6)
        found = batches(
            reader,
            batch_size=12,
            shuffle_buffer_size=shuffle,
            seed=seed,
            num_epochs=2,
            input_context=context,
        )
        assert [len(batch) for batch in found[:-1]] == [2] * (len(found) - 1)
        share = [row for batch in found for row in batch]
        assert sorted(share[: len(share) // 2]) == sorted(share[len(share) // 2 :])
        shares.append(share[: len(share) // 2])
    assert sorted(sum(shares, [])) == list(range(ROWS))
    assert sorted(len(share) for share in shares) == [17, 18, 18]


def test_batch_size_is_shared_by_replicas(reader):
    import tensorflow as tf

    context = tf.distribute.InputContext(1, 0, 4)
    assert len(batches(reader, batch_size=20, input_context=context)[0]) == 5
    message = (
        r"batch_size is 10, which 4 replicas cannot share equally; give a multiple of 4, such as 12"
    )
    with pytest.raises(ValueError, match=message):
        reader_input_fn(reader, 10, input_context=context)


WRONG = [
    ({"batch_size": 0}, "reader_input_fn.batch_size is 0; give a whole number of at least 1"),
    ({"batch_size": 2.0}, "reader_input_fn.batch_size is 2.0"),
    ({"batch_size": True}, "reader_input_fn.batch_size is True"),
    ({"shuffle_buffer_size": -1}, "reader_input_fn.shuffle_buffer_size is -1"),
    ({"num_epochs": 0}, "reader_input_fn.num_epochs is 0"),
    ({"max_bad_records": -1}, "reader_input_fn.max_bad_records is -1"),
    (
        {"reader": "a.csv"},
        "reader_input_fn.reader is 'a.csv'; give a reader, such as @CsvReader().",
    ),
    ({"reader": CsvReader}, "give a reader, such as @CsvReader() with parentheses"),
]


@pytest.mark.parametrize(("kwargs", "message"), WRONG)
def test_wrong_argument_is_named(tmp_path, kwargs, message):
    arguments = {"reader": make_array(tmp_path), "batch_size": 5, **kwargs}
    with pytest.raises(ValueError) as caught:
        reader_input_fn(**arguments)
    assert message in str(caught.value)


def test_the_whole_from_gin_with_scopes(tmp_path):
    for name, count in (("train", 4), ("eval", 2)):
        lines = "".join(f"{i},{2 * i}\n" for i in range(count))
        (tmp_path / f"{name}.csv").write_text("x,y\n" + lines)
    gin.parse_config(f"""
        Schema.features = {{'x': {{}}, 'y': {{}}}}
        Schema.label = 'y'
        CsvReader.schema = @Schema()
        train/CsvReader.files = '{tmp_path}/train.csv'
        eval/CsvReader.files = '{tmp_path}/eval.csv'
        train/reader_input_fn.reader = @train/CsvReader()
        eval/reader_input_fn.reader = @eval/CsvReader()
        reader_input_fn.batch_size = 8
    """)
    try:
        for name, count in (("train", 4), ("eval", 2)):
            with gin.config_scope(name):
                [(features, label)] = list(reader_input_fn())
            assert features["x"].numpy().tolist() == list(range(count))
            assert label.numpy().tolist() == [2 * i for i in range(count)]
    finally:
        gin.clear_config()


@pytest.mark.parametrize("shuffle_buffer_size", [0, 100])
@pytest.mark.parametrize("seed", [None, 7])
def test_pipelines_share_out_whole_files(tmp_path, shuffle_buffer_size, seed):
    reader = make_csv_files(tmp_path)
    files = [part.tolist() for part in np.array_split(np.arange(ROWS), 5)]
    import tensorflow as tf

    parts = []
    for pipeline in range(2):
        context = tf.distribute.InputContext(2, pipeline, 2)
        parts.append(
            rows(
                reader,
                batch_size=4,
                shard_by="file",
                shuffle_buffer_size=shuffle_buffer_size,
                seed=seed,
                input_context=context,
            )
        )
    assert sorted(parts[0] + parts[1]) == list(range(ROWS))
    for part in parts:
        assert {f for f, rows_ in enumerate(files) if set(rows_) & set(part)} == {
            f for f, rows_ in enumerate(files) if set(rows_) <= set(part)
        }


def test_too_few_files_for_the_pipelines_are_named(tmp_path):
    reader = make_csv_files(tmp_path)
    import tensorflow as tf

    context = tf.distribute.InputContext(6, 5, 6)
    with pytest.raises(ValueError, match="5 file.s. cannot be shared out to 6 pipelines; write"):
        reader_input_fn(reader, 6, shard_by="file", input_context=context)


def test_arrays_have_no_files_to_share_out(tmp_path):
    with pytest.raises(ValueError, match="shard_by is 'file', and ArrayReader reads no files"):
        reader_input_fn(make_array(tmp_path), 6, shard_by="file")
