"""`genever check --versions`: what is installed here, and with which versions Genever is tested."""

import importlib.metadata
import platform

from rich.console import Console
from rich.table import Table

from ..estimators.compat import MATRIX, tensorflow_version

_HERE = ("tensorflow", "tensorflow-estimator", "tf-keras", "numpy", "protobuf", "gin-config")


def show() -> None:
    """Prints the installed versions and the matrix; imports no TensorFlow."""
    installed = {name: _version(name) for name in _HERE}
    print(
        f"here: Python {platform.python_version()}, "
        + ", ".join(f"{name} {version or 'not installed'}" for name, version in installed.items())
    )
    here = tensorflow_version()
    table = Table(caption="* is installed here", caption_justify="left")
    for column in ("TensorFlow", "Python", "tf.estimator", "Keras 2 behind tf.keras", "note"):
        table.add_column(column)
    for row in MATRIX:
        mark = " *" if here is not None and row.tensorflow == f"{here[0]}.{here[1]}" else ""
        table.add_row(row.tensorflow + mark, row.python, row.estimator, row.keras, row.note)
    Console(highlight=False, width=None).print(table)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
