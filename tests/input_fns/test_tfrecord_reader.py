"""TFRecord files of tf.Example: what is read from them and what is refused."""

import zipfile

import numpy as np
import pytest
from genever.input_fns import InputError, Schema, TFRecordReader, reader_input_fn

pytestmark = pytest.mark.core

SCHEMA = Schema(
    {
        "carrier": {"hash_buckets": 10, "default": "none"},
        "month": {"num_buckets": 13},
        "x": {"shape": [2], "default": 7},
        "late": {},
    },
    label="late",
)


def example(**features):
    import tensorflow as tf

    def feature(value):
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    made = {name: feature(value) for name, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def write(path, compression=""):
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path), compression) as writer:
        writer.write(example(carrier=b"AA", month=3, x=[1.0, 2.0], late=1.0, extra=5))
        writer.write(example(month=12, late=0.0))
    return str(path)


def check_table(reader):
    [(features, label)] = list(reader_input_fn(reader, batch_size=5))
    assert features["carrier"].numpy().tolist() == [b"AA", b"none"]
    assert features["month"].numpy().tolist() == [3, 12]
    assert features["x"].numpy().tolist() == [[1, 2], [7, 7]]
    assert features["x"].shape == (2, 2)
    assert label.numpy().tolist() == [1.0, 0.0]


def test_reads_plain_and_compressed(tmp_path):
    check_table(TFRecordReader(write(tmp_path / "a.tfrecord"), SCHEMA))
    check_table(TFRecordReader(write(tmp_path / "a.tfrecord.gz", "GZIP"), SCHEMA))
    check_table(TFRecordReader(write(tmp_path / "a.packed", "GZIP"), SCHEMA, compression="GZIP"))
    check_table(TFRecordReader(write(tmp_path / "a.z", "ZLIB"), SCHEMA, compression="ZLIB"))


def test_reads_a_zip_member(tmp_path):
    write(tmp_path / "a.tfrecord")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.tfrecord", "data.tfrecord")
    check_table(TFRecordReader(str(tmp_path / "a.zip"), SCHEMA))


def test_iterator_can_be_saved(tmp_path):
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        for i in range(50):
            writer.write(example(i=i))
    reader = TFRecordReader(str(tmp_path / "a"), Schema({"i": {"dtype": "int64"}}))
    kwargs = {"shuffle_buffer_size": 9, "seed": 1, "num_epochs": 2}
    iterator = iter(reader_input_fn(reader, 4, **kwargs))
    begun = [next(iterator)["i"].numpy().tolist() for _ in range(15)]
    saved = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "ckpt"))
    rest = [features["i"].numpy().tolist() for features in iterator]
    assert sorted(np.concatenate(begun + rest).tolist()) == sorted([*range(50)] * 2)
    resumed = iter(reader_input_fn(reader, 4, **kwargs))
    tf.train.Checkpoint(iterator=resumed).restore(saved)
    assert [features["i"].numpy().tolist() for features in resumed] == rest


def test_csv_is_not_tfrecord(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_text("carrier,month,late\nAA,1,0\n")
    with pytest.raises(InputError, match=r"is not a TFRecord file.*looks like text; use CsvReader"):
        TFRecordReader(str(path), SCHEMA)


def test_compression_must_be_known_and_true(tmp_path):
    path = write(tmp_path / "a.tfrecord")
    with pytest.raises(ValueError, match=r"compression is 'GZP'; did you mean 'GZIP'\?"):
        TFRecordReader(path, SCHEMA, compression="GZP")
    with pytest.raises(InputError, match=r"a\.tfrecord: is to be read as gzip but is not"):
        TFRecordReader(path, SCHEMA, compression="GZIP")
    with pytest.raises(InputError, match=r"b\.tfrecord: is gzip-compressed; rename it"):
        TFRecordReader(write(tmp_path / "b.tfrecord", "GZIP"), SCHEMA)
    with pytest.raises(InputError, match=r"a\.tfrecord: cannot be decompressed"):
        TFRecordReader(path, SCHEMA, compression="ZLIB")


def test_gzip_in_a_plain_file_can_be_named_by_compression(tmp_path):
    check_table(TFRecordReader(write(tmp_path / "c", "GZIP"), SCHEMA, compression="GZIP"))


def test_schema_must_be_a_schema(tmp_path):
    with pytest.raises(ValueError, match=r"TFRecordReader\.schema is \{\}; give a Schema"):
        TFRecordReader(write(tmp_path / "a"), {})
