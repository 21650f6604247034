"""Names that become folders below a model_dir."""

from typing import Any


def check_folder_name(parameter: str, name: Any) -> None:
    """Refuses a name that would lead into another folder.

    Args:
        parameter: its name in a config, e.g. 'FinalExporter.name'.
        name: what was given.
    Raises:
        ValueError: it is empty, or more than one component of a path.
    """
    if not isinstance(name, str) or name.strip() in ("", ".", "..") or set(name) & set("/\\\0"):
        raise ValueError(
            f"{parameter} = {name!r} must be the name of one folder, without '/'; write one such "
            "as 'best'."
        )
