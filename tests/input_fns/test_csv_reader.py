"""CSV files: what is read from them, and what is refused before anything runs."""

import gzip
import os
import zipfile

import numpy as np
import pytest
from genever.input_fns import CsvReader, InputError, Schema, reader_input_fn

pytestmark = pytest.mark.core

SCHEMA = Schema(
    {
        "carrier": {"hash_buckets": 10, "default": "none"},
        "month": {"num_buckets": 13},
        "distance": {"default": -1},
        "late": {},
    },
    label="late",
)
TEXT = 'late,month,extra,carrier,distance\n1,2,x,AA,100.5\n0,12,y,,\n1,1,"z,""q""","U A",3e2\n'


def write(path, data):
    data = data.encode() if isinstance(data, str) else data
    if path.name.endswith(".gz"):
        data = gzip.compress(data)
    path.write_bytes(data)
    return str(path)


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return str(path)


def read(reader, **kwargs):
    return [
        ({name: value.numpy() for name, value in features.items()}, label.numpy())
        for features, label in reader_input_fn(reader, **{"batch_size": 10, **kwargs})
    ]


def check_table(reader):
    [(features, label)] = read(reader)
    assert features["carrier"].tolist() == [b"AA", b"none", b"U A"]
    assert features["month"].tolist() == [2, 12, 1]
    assert features["month"].dtype == np.int64
    assert features["distance"].tolist() == [100.5, -1.0, 300.0]
    assert features["distance"].dtype == np.float32
    assert set(features) == {"carrier", "month", "distance"}
    assert label.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_reads_columns_by_name(tmp_path, name):
    check_table(CsvReader(write(tmp_path / name, TEXT), SCHEMA))


def test_reads_the_only_csv_member_of_a_zip(tmp_path):
    path = write_zip(tmp_path / "a.zip", {"readme.txt": "no", "in/data.csv": TEXT})
    check_table(CsvReader(path, SCHEMA))
    check_table(CsvReader(path + "/in/data.csv", SCHEMA))


def test_crlf_byte_order_mark_and_other_delimiter(tmp_path):
    text = "\ufeff" + TEXT.replace('"z,""q"""', "z").replace(",", "\t").replace("\n", "\r\n")
    check_table(CsvReader(write(tmp_path / "data.tsv", text), SCHEMA, delimiter="\t"))


def test_columns_without_a_header(tmp_path):
    path = write(tmp_path / "data.csv", TEXT.split("\n", 1)[1])
    names = ["late", "month", "extra", "carrier", "distance"]
    check_table(CsvReader(path, SCHEMA, header=names))
    in_order = write(tmp_path / "order.csv", "AA,2,100.5,1\n,12,,0\nU A,1,300,1\n")
    check_table(CsvReader(in_order, SCHEMA, header=False))


def test_patterns_lists_and_batches_go_on_across_files(tmp_path):
    for number in range(3):
        lines = "".join(f"{10 * number + i},0\n" for i in range(3))
        write(tmp_path / f"part{number}.csv", "x,y\n" + lines)
    schema = Schema({"x": {"dtype": "int64"}, "y": {}}, label="y")
    for files in (str(tmp_path / "*.csv"), [str(tmp_path / f"part{i}.csv") for i in range(3)]):
        batches = read(CsvReader(files, schema), batch_size=4)
        assert [features["x"].tolist() for features, _ in batches] == [
            [0, 1, 2, 10],
            [11, 12, 20, 21],
            [22],
        ]


def test_feature_of_several_columns_and_na_value(tmp_path):
    path = write(tmp_path / "d.csv", "x_1,x_0\n1,NA\n3,4\n")
    schema = Schema({"x": {"shape": [2], "default": 9}})
    [features] = list(reader_input_fn(CsvReader(path, schema, na_value="NA"), batch_size=2))
    assert features["x"].numpy().tolist() == [[9, 1], [4, 3]]


def test_quoted_line_breaks(tmp_path):
    text = 'text,x\n"one\ntwo, ""three""\n",1\nplain,2\n"",3\n"last\n\nline",4'
    schema = Schema({"text": {"dtype": "string", "default": "none"}, "x": {}})
    for name in ("d.csv", "d.csv.gz"):
        reader = CsvReader(write(tmp_path / name, text), schema, quoted_newlines=True)
        [features] = list(reader_input_fn(reader, batch_size=9))
        assert features["text"].numpy().tolist() == [
            b'one\ntwo, "three"\n',
            b"plain",
            b"none",
            b"last\n\nline",
        ]
        assert features["x"].numpy().tolist() == [1, 2, 3, 4]


def test_no_python_function_is_needed_and_the_iterator_can_be_saved(tmp_path):
    import tensorflow as tf

    path = write(tmp_path / "d.csv", "x\n" + "".join(f"{i}\n" for i in range(100)))
    reader = CsvReader(path, Schema({"x": {}}))
    kwargs = {"shuffle_buffer_size": 100, "seed": 5, "num_epochs": 2}
    iterator = iter(reader_input_fn(reader, 7, **kwargs))
    for _ in range(5):
        next(iterator)
    saved = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "ckpt"))
    rest = [features["x"].numpy().tolist() for features in iterator]
    resumed = iter(reader_input_fn(reader, 7, **kwargs))
    tf.train.Checkpoint(iterator=resumed).restore(saved)
    assert [features["x"].numpy().tolist() for features in resumed] == rest
    assert len(rest) == 24


GOOD = "carrier,month,distance,late\nAA,1,2,0\n"
STATIC = {
    "no file": (lambda d: d / "none*.csv", {}, "CsvReader.files: no file matches"),
    "folder": (lambda d: d, {}, "is a folder; name the files in it"),
    "empty": (lambda d: write(d / "a.csv", ""), {}, "a.csv: is empty"),
    "empty gz": (lambda d: write(d / "a.csv.gz", ""), {}, "a.csv.gz: is empty"),
    "no pattern": (lambda d: [], {}, "CsvReader.files is empty"),
    "header only": (lambda d: write(d / "a.csv", "late,month,carrier,distance\n"), {}, "no record"),
    "column": (
        lambda d: write(d / "a.csv", GOOD.replace("month", "mnth")),
        {},
        "a.csv: the header has no column 'month', which the schema names; did you mean 'mnth'? If",
    ),
    "no header": (
        lambda d: write(d / "a.csv", "AA,1,2,0\n"),
        {},
        "has no column 'carrier', which the schema names; it is 'AA,1,2,0'. If the file has no hea",
    ),
    "header named": (
        lambda d: write(d / "a.csv", "AA,1,2,0\n"),
        {"header": ["carrier", "mont", "distance", "late"]},
        "CsvReader.header has no column 'month', which the schema names; did you mean 'mont'?",
    ),
    "column twice": (
        lambda d: write(d / "a.csv", "late,month,carrier,distance,late\n1,1,a,1,1\n"),
        {},
        "the header has the column 'late' twice",
    ),
    "header unexpected": (
        lambda d: write(d / "a.csv", GOOD),
        {"header": False},
        "a.csv: line 1 is a header; set CsvReader.header = True",
    ),
    "gzip by content": (
        lambda d: write(d / "a.csv", gzip.compress(GOOD.encode())),
        {},
        "a.csv: is gzip-compressed; rename it to end in .gz",
    ),
    "gzip by name": (
        lambda d: os.rename(write(d / "b.csv", GOOD), d / "a.csv.gz") or d / "a.csv.gz",
        {},
        "a.csv.gz: is to be read as gzip but is not gzip-compressed",
    ),
    "zip by content": (
        lambda d: os.rename(write_zip(d / "b.zip", {"a.csv": GOOD}), d / "a.csv") or d / "a.csv",
        {},
        "a.csv: is a zip archive; rename it to end in .zip",
    ),
    "not a zip": (lambda d: write(d / "a.zip", GOOD), {}, "a.zip: is not a readable zip archive"),
    "zip of two": (
        lambda d: write_zip(d / "a.zip", {"a.csv": GOOD, "b.csv": GOOD}),
        {},
        "has 2 .csv members (a.csv, b.csv); name one, such as",
    ),
    "no such member": (
        lambda d: write_zip(d / "a.zip", {"a.csv": GOOD}) + "/b.csv",
        {},
        "a.zip has no member 'b.csv'; it has a.csv",
    ),
    "utf-16": (lambda d: write(d / "a.csv", GOOD.encode("utf-16")), {}, "is UTF-16 text; save it"),
    "binary": (lambda d: write(d / "a.csv", b"\x7fELF\0\0\0"), {}, "is a binary file and not CSV"),
    "delimiter": (lambda d: write(d / "a.csv", GOOD), {"delimiter": "||"}, "delimiter is '||'"),
    "broken link": (
        lambda d: os.symlink(d / "gone", d / "a.csv") or d / "a.csv",
        {},
        "a.csv: is a link to a file that does not exist",
    ),
}


@pytest.mark.parametrize("case", STATIC)
def test_refused_before_anything_runs(tmp_path, case):
    make, kwargs, message = STATIC[case]
    with pytest.raises(ValueError) as caught:
        CsvReader(make(tmp_path), SCHEMA, **kwargs)
    assert message in str(caught.value)


def test_files_must_have_the_same_header(tmp_path):
    write(tmp_path / "a.csv", GOOD)
    write(tmp_path / "b.csv", "month,carrier,distance,late\n1,AA,2,0\n")
    with pytest.raises(InputError, match=r"b\.csv: its header .* differs from that of .*a\.csv"):
        CsvReader(str(tmp_path / "*.csv"), SCHEMA)


def test_tfrecord_file_is_not_csv(tmp_path):
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(tmp_path / "a.csv")) as writer:
        writer.write(b"x")
    with pytest.raises(InputError, match=r"a\.csv: is a TFRecord file and not CSV"):
        CsvReader(str(tmp_path / "a.csv"), SCHEMA)


def test_truncated_gzip_is_refused_where_tensorflow_would_read_less(tmp_path):
    text = GOOD + "".join(f"AA,1,{i * 7919},0\n" for i in range(20000))
    whole = gzip.compress(text.encode())
    path = tmp_path / "a.csv.gz"
    path.write_bytes(whole[:-2000])
    with pytest.raises(InputError, match=r"a\.csv\.gz: is cut off or damaged"):
        reader_input_fn(CsvReader(str(path), SCHEMA), batch_size=8)
    damaged = bytearray(whole)
    damaged[-6] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"a\.csv\.gz: is cut off or damaged"):
        reader_input_fn(CsvReader(str(path), SCHEMA), batch_size=8)
