"""Malformed records: found after the failure, named by file and record, or counted and skipped."""

import gzip
import os
import struct
import zipfile

import pytest
from genever.input_fns import (
    ArrayReader,
    CsvReader,
    InputError,
    Schema,
    TFRecordReader,
    bad_records,
    explain,
    reader_input_fn,
)

pytestmark = pytest.mark.core

CSV_SCHEMA = Schema(
    {"name": {"dtype": "string", "default": ""}, "n": {"num_buckets": 9}, "x": {}}, label="x"
)
HEADER = "name,n,x\n"
GOOD = "a,1,2.5\n"

# What stands in the third record, and what is said of it.
CSV_CASES = {
    "not a float": ("b,2,abc", "field 'x' is 'abc', not a float32"),
    "not an int": ("b,2.0,1", "field 'n' is '2.0', not an int64"),
    "int out of range": ("b,9223372036854775808,1", "'9223372036854775808', not an int64"),
    "underscore": ("b,1_0,1", "field 'n' is '1_0', not an int64"),
    "required": ("b,,1", "field 'n' is empty and the feature has no default"),
    "required label": ("b,1,", "field 'x' is empty and the feature has no default"),
    "too few": ("b,1", "it has 2 fields instead of 3"),
    "too many": ("b,1,2,3", "it has 4 fields instead of 3"),
    "one field": ("b", "it has 1 field instead of 3"),
    "empty line": ("", "the line is empty; delete it"),
    "stray quote": ('b"c,1,2', "field 1 has a quote inside but does not begin with one"),
    "text after quote": ('"b"c,1,2', "field 1 goes on after its closing quote"),
    "open quote": (
        '"b,1,2',
        "the quote that begins field 1 is not closed; if the field holds a line",
    ),
    "not text": (b"b,1,\xff\xfe", "field 'x' is '\\\\xff\\\\xfe', not a float32"),
}


def write_csv(path, third):
    third = third if isinstance(third, bytes) else third.encode()
    data = (HEADER + GOOD * 2).encode() + third + b"\n" + GOOD.encode() * 4
    if path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(data))
    elif path.name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.csv", data)
    else:
        path.write_bytes(data)
    return str(path)


def drain(reader, **kwargs):
    rows = 0
    for batch in reader_input_fn(reader, **{"batch_size": 4, **kwargs}):
        label = batch[1] if isinstance(batch, tuple) else next(iter(batch.values()))
        rows += len(label)
    return rows


def drain_in_session(reader, **kwargs):
    import tensorflow as tf

    rows = 0
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        dataset = reader_input_fn(reader, **{"batch_size": 4, **kwargs})
        iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
        batch = tf.nest.flatten(iterator.get_next())[-1]
        session.run(iterator.initializer)
        while True:
            try:
                rows += len(session.run(batch))
            except tf.errors.OutOfRangeError:
                return rows


def explained(reader, how=drain, **kwargs):
    import tensorflow as tf

    with pytest.raises((tf.errors.OpError, UnicodeDecodeError)) as caught:
        how(reader, **kwargs)
    found = explain(caught.value)
    assert isinstance(found, InputError)
    return str(found)


@pytest.mark.parametrize("case", CSV_CASES)
def test_csv_record_is_named(tmp_path, case):
    third, message = CSV_CASES[case]
    reader = CsvReader(write_csv(tmp_path / "a.csv", third), CSV_SCHEMA)
    found = explained(reader)
    assert found.startswith(f"{tmp_path}/a.csv, record 3 (line 4): ")
    assert message.replace("\\\\", "\\") in found.replace("\\\\", "\\")


@pytest.mark.parametrize("case", CSV_CASES)
def test_csv_record_is_skipped_and_counted(tmp_path, case):
    path = write_csv(tmp_path / "a.csv", CSV_CASES[case][0])
    reader = CsvReader(path, CSV_SCHEMA)
    assert drain(reader, max_bad_records=1, num_epochs=3) == 18
    assert bad_records()[path] == 1


@pytest.mark.parametrize("name", ["a.csv.gz", "a.zip"])
def test_compressed_csv_record_is_named(tmp_path, name):
    reader = CsvReader(write_csv(tmp_path / name, "b,2,abc"), CSV_SCHEMA)
    shown = "a.zip/data.csv" if name == "a.zip" else name
    assert f"{shown}, record 3 (line 4): field 'x' is 'abc', not a float32." in explained(reader)


def test_second_of_two_files_is_named(tmp_path):
    (tmp_path / "a.csv").write_text(HEADER + GOOD * 9)
    write_csv(tmp_path / "b.csv", "b,2,abc")
    found = explained(CsvReader(str(tmp_path / "*.csv"), CSV_SCHEMA), shuffle_buffer_size=50)
    assert "b.csv, record 3 (line 4): field 'x' is 'abc'" in found


def test_in_a_session(tmp_path):
    reader = CsvReader(write_csv(tmp_path / "a.csv", "b,2,abc"), CSV_SCHEMA)
    assert "a.csv, record 3 (line 4): field 'x' is 'abc'" in explained(reader, drain_in_session)
    assert drain_in_session(reader, max_bad_records=1) == 6


def test_limit_of_bad_records(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + GOOD + "b,x,1\n" + GOOD + "b\n" + GOOD + "b,1,\n" + GOOD)
    reader = CsvReader(str(path), CSV_SCHEMA)
    assert drain(reader, max_bad_records=3) == 4
    assert bad_records()[str(path)] == 3
    message = (
        "a.csv, record 6 (line 7): field 'x' is empty and the feature has no default; that is "
        "malformed record 3 and max_bad_records is 2."
    )
    for how in (drain, drain_in_session):
        assert message in explained(reader, how, max_bad_records=2)
    assert drain(reader, max_bad_records=3, shuffle_buffer_size=9, num_epochs=4) == 16


def test_skipping_shards_are_disjoint_and_complete(tmp_path):
    import tensorflow as tf

    path = tmp_path / "a.csv"
    path.write_text("i\n" + "".join(f"{i}\n" if i % 10 else "bad\n" for i in range(100)))
    reader = CsvReader(str(path), Schema({"i": {"dtype": "int64"}}))
    found = []
    for pipeline in range(2):
        context = tf.distribute.InputContext(2, pipeline, 2)
        dataset = reader_input_fn(reader, 8, max_bad_records=10, input_context=context)
        found += [row for features in dataset for row in features["i"].numpy().tolist()]
    assert sorted(found) == [i for i in range(100) if i % 10]


def test_quoted_line_break_gets_its_cure_and_its_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + GOOD + '"one\ntwo",1,2\n' + "b,1,oops\n")
    found = explained(CsvReader(str(path), CSV_SCHEMA))
    assert "record 2 (line 3): the quote that begins field 1 is not closed; if the field" in found
    assert "set CsvReader.quoted_newlines = True" in found
    found = explained(CsvReader(str(path), CSV_SCHEMA, quoted_newlines=True))
    assert "a.csv, record 3 (line 5): field 'x' is 'oops'" in found


def test_quote_left_open_at_the_end_is_no_shorter_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + GOOD + '"one,1,2\n' + GOOD)
    found = explained(CsvReader(str(path), CSV_SCHEMA, quoted_newlines=True))
    assert "a.csv, record 2 (line 3): the quote that begins field 1 is not closed" in found


FIELDS = {
    "int64": "1 -1 007 0x10 1_0 1e3 1.0 - + a １ 9223372036854775807 9223372036854775808",
    "float32": "1 1. .5 . 1e3 1e400 -1e-400 inf -inf nan NAN 0x10 1_0 1f e5 1e --1 + a １ 3.5e38",
}
CASES = [
    (dtype, field) for dtype, text in FIELDS.items() for field in [*text.split(), " 1 ", "\t1"]
]


@pytest.mark.parametrize(("dtype", "field"), CASES)
def test_python_and_tensorflow_agree_on_a_field(tmp_path, dtype, field):
    import tensorflow as tf

    path = tmp_path / "a.csv"
    path.write_text(f"v,w\n{field},0\n")
    reader = CsvReader(str(path), Schema({"v": {"dtype": dtype}}))
    try:
        readable = drain(reader) == 1
    except tf.errors.InvalidArgumentError:
        readable = False
    assert [found is None for found in reader.scan()] == [readable]


TF_SCHEMA = Schema(
    {"name": {"dtype": "string", "default": ""}, "n": {"num_buckets": 9}, "x": {"shape": [2]}}
)


def example(**features):
    import tensorflow as tf

    lists = {
        bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
        int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
        float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
    }
    made = {name: lists[type(values[0])](values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def write_tfrecord(path, third, compression=""):
    import tensorflow as tf

    good = example(name=[b"a"], n=[1], x=[1.0, 2.0])
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in [good, good, third or good, good, good]:
            writer.write(record)
    return str(path)


EXAMPLE_CASES = {
    "missing": (
        {"nn": [1], "x": [1.0, 2.0]},
        "has no feature 'n', which has no default; did you m",
    ),
    "missing, no hint": (
        {"x": [1.0, 2.0]},
        "the example has no feature 'n', which has no default;",
    ),
    "dtype": (
        {"n": [1.0], "x": [1.0, 2.0]},
        "feature 'n' is float32, not int64 as the schema says",
    ),
    "dtype with default": ({"name": [1], "n": [1], "x": [1.0, 2.0]}, "'name' is int64, not string"),
    "shape": (
        {"n": [1], "x": [1.0]},
        "feature 'x' has 1 value instead of 2, as the schema's shape",
    ),
    "too many": (
        {"n": [1, 2], "x": [1.0, 2.0]},
        "feature 'n' has 2 values instead of 1, as the sch",
    ),
    "no example": (b"\xff\xff\xff", "it is not a serialized tf.Example"),
    "empty": (b"", "the example has no feature 'n', which has no default; it has none"),
}


@pytest.mark.parametrize("case", EXAMPLE_CASES)
def test_example_is_named_then_skipped(tmp_path, case):
    third, message = EXAMPLE_CASES[case]
    third = third if isinstance(third, bytes) else example(**third)
    import tensorflow as tf

    path = str(tmp_path / "a.tfrecord")
    good = example(n=[1], x=[1.0, 2.0])
    with tf.io.TFRecordWriter(path) as writer:
        for record in [good, good, third, good, good]:
            writer.write(record)
    reader = TFRecordReader(path, TF_SCHEMA)
    for how in (drain, drain_in_session):
        found = explained(reader, how)
        assert found.startswith(f"{path}, record 3: ")
        assert message in found
    assert drain(reader, max_bad_records=1, num_epochs=2) == 8
    assert bad_records()[path] == 1


def frame_bytes(path):
    with open(path, "rb") as data:
        (length,) = struct.unpack("<Q", data.read(8))
    return length + 16


@pytest.mark.parametrize("max_bad_records", [0, 5])
def test_damaged_frames_are_errors_even_when_skipping(tmp_path, max_bad_records):
    path = tmp_path / "a.tfrecord"
    write_tfrecord(path, None)
    size = frame_bytes(path)
    whole = path.read_bytes()
    third = 2 * size
    damages = {
        "corrupt": whole[: third + 20] + b"\x00\x01" + whole[third + 22 :],
        "cut off": whole[: third + 30],
    }
    damages_of_length = whole[:third] + b"\x77" + whole[third + 1 :]
    for how in (drain, drain_in_session):
        for word, data in [*damages.items(), ("corrupt", damages_of_length)]:
            path.write_bytes(data)
            reader = TFRecordReader(str(path), TF_SCHEMA)
            found = explained(reader, how, max_bad_records=max_bad_records)
            assert f"{path}, record 3: the record at byte {third} is {word} (" in found
            assert "nothing after it can be read, so write the file again." in found


def test_truncated_gzip_tfrecord_is_refused(tmp_path):
    path = tmp_path / "a.tfrecord.gz"
    write_tfrecord(path, None, "GZIP")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"a\.tfrecord\.gz: is cut off or damaged"):
        reader_input_fn(TFRecordReader(str(path), TF_SCHEMA), batch_size=2)


def test_damage_within_gzip_names_the_record(tmp_path):
    path = tmp_path / "a.tfrecord"
    write_tfrecord(path, None)
    third = 2 * frame_bytes(path)
    data = bytearray(path.read_bytes())
    data[third + 20] ^= 1
    packed = tmp_path / "a.tfrecord.gz"
    packed.write_bytes(gzip.compress(bytes(data)))
    found = explained(TFRecordReader(str(packed), TF_SCHEMA))
    assert f"record 3: the record at decompressed byte {third} is corrupt" in found


def test_file_that_vanished(tmp_path):
    path = write_csv(tmp_path / "a.csv", "b,1,2")
    reader = CsvReader(path, CSV_SCHEMA)
    dataset = reader_input_fn(reader, batch_size=4)
    os.remove(path)
    with pytest.raises(Exception) as caught:
        list(dataset)
    assert "a.csv: can no longer be read (No such file or directory)." in str(explain(caught.value))


def test_errors_that_the_input_is_not_to_blame_for(tmp_path):
    import tensorflow as tf

    reader = CsvReader(write_csv(tmp_path / "a.csv", "b,2,abc"), CSV_SCHEMA)
    reader_input_fn(reader, batch_size=4)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.reshape(tf.zeros([3]), [2])
    assert explain(caught.value) is None
    assert explain(KeyError("x")) is None


def test_healthy_reader_is_not_blamed(tmp_path):
    import tensorflow as tf

    healthy = ArrayReader({"x": [1.0, 2.0]})
    dataset = reader_input_fn(healthy, batch_size=1)
    failing = dataset.map(lambda f: tf.debugging.check_numerics(f["x"] / 0.0, "our own"))
    # A reader whose file is gone by now is not to blame for this either.
    gone = CsvReader(write_csv(tmp_path / "gone.csv", "b,2,3"), CSV_SCHEMA)
    reader_input_fn(gone, batch_size=1)
    os.remove(tmp_path / "gone.csv")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        list(failing)
    assert explain(caught.value) is None


def test_error_behind_an_error_is_found(tmp_path):
    reader = CsvReader(write_csv(tmp_path / "a.csv", "b,2,abc"), CSV_SCHEMA)
    try:
        try:
            drain(reader)
        except Exception as error:
            raise RuntimeError("training failed") from error
    except RuntimeError as error:
        assert "a.csv, record 3" in str(explain(error))
    ours = InputError("x")
    assert explain(ours) is ours


def test_fields_that_only_newer_tensorflow_reads_count_as_malformed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n,x\n+1,1\n1,Infinity\n1,0x1p3\n1,1\n")
    reader = CsvReader(str(path), Schema({"n": {"dtype": "int64"}, "x": {}}))
    assert [found is None for found in reader.scan()] == [False, False, False, True]
    assert drain(reader, max_bad_records=3) == 1
