"""Which TensorFlow is here, without importing it, and whether the bridge is tested with it."""

import importlib.metadata
import re
import warnings
from typing import NamedTuple


class Supported(NamedTuple):
    """A TensorFlow that the bridge is tested with; texts for a reader."""

    tensorflow: str
    python: str
    estimator: str
    keras: str
    note: str = ""


_SEED = "no tf.keras.utils.set_random_seed on 3.12"
MATRIX = (
    Supported("2.15", "3.10 - 3.11", "TensorFlow's own", "TensorFlow's own"),
    Supported("2.16", "3.10 - 3.12", "bridged", "tf_keras", _SEED),
    Supported("2.17", "3.10 - 3.12", "bridged", "tf_keras", _SEED),
    Supported("2.18", "3.10 - 3.12", "bridged", "tf_keras", _SEED),
    Supported("2.19", "3.10 - 3.12", "bridged", "tf_keras"),
    Supported("2.20", "3.10 - 3.13", "bridged", "tf_keras", "protobuf 7 is bridged too"),
    Supported("2.21", "3.10 - 3.13", "bridged", "tf_keras"),
)
SUPPORTED_TENSORFLOW = tuple(row.tensorflow for row in MATRIX)
OLDEST, NEWEST = (2, 15), (2, 21)
FIRST_WITHOUT_ESTIMATOR = (2, 16)

# The names under which TensorFlow is published; all of them bring the module `tensorflow`.
_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-rocm",
    "tensorflow-cpu-aws",
    "intel-tensorflow",
    "tf-nightly",
    "tf-nightly-cpu",
)

_warned = False


def parse(version: str) -> tuple[int, int]:
    """Major and minor number of a version such as '2.21.0' or '2.22.0-dev20260101'."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None:
        raise ImportError(f"TensorFlow calls its version {version!r}, which Genever cannot read.")
    return int(numbers[1]), int(numbers[2])


def tensorflow_version() -> tuple[int, int] | None:
    """Major and minor number of the installed TensorFlow, or None if no package tells it."""
    for name in _DISTRIBUTIONS:
        try:
            return parse(importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def check(version: tuple[int, int]) -> None:
    """Refuses a TensorFlow that is too old and warns once of one that is newer than tested.

    Args:
      version: major and minor number.

    Raises:
      ImportError: the version is older than 2.15.
    """
    global _warned
    name = f"{version[0]}.{version[1]}"
    if version < OLDEST:
        raise ImportError(
            f"Genever needs TensorFlow {SUPPORTED_TENSORFLOW[0]} or newer, but {name} is installed."
        )
    if version > NEWEST and not _warned:
        _warned = True
        warnings.warn(
            f"Genever is tested with TensorFlow {SUPPORTED_TENSORFLOW[0]} to "
            f"{SUPPORTED_TENSORFLOW[-1]}; TensorFlow {name} is newer and is tried as it is.",
            stacklevel=2,
        )
