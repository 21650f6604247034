"""One object per gin name: a reference gives the same object however often gin evaluates it."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import gin


def one_per_name(name: str, make: Callable[[], Any], **arguments: Any) -> Any:
    """Returns the one object for this name, gin scope and arguments, making it the first time.

    Args:
        name: name of the configurable.
        make: makes the object.
        **arguments: the arguments of the configurable; lists and dicts count by their content.
    Returns:
        The object; `gin.clear_config()` forgets it.
    """
    key = ("genever", gin.current_scope_str(), name, _hashable(arguments))
    return gin.config.singleton_value(key, make)


def _hashable(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple((key, _hashable(item)) for key, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(_hashable(item) for item in value)
    return value
