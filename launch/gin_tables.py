"""What gin has registered and bound: the one place that reads gin-config's own tables.

gin-config (pinned in setup.py) has no public call that lists its configurables, its bindings or
where a function stands in its registry; the audit of a config needs all three.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gin import config as _gin
from gin import resource_reader as _resources

Configurable = _gin.Configurable
Reference = _gin.ConfigurableReference
REQUIRED = _gin.REQUIRED
MACRO = "gin.macro"
_CONSTANT = "gin.constant"


def names() -> list[str]:
    """Returns the complete selectors of all configurables."""
    return [selector for selector, _ in _gin._REGISTRY.items()]


def matches(selector: str) -> list[str]:
    """Returns the complete selectors that a (partial) selector could mean."""
    return _gin._REGISTRY.matching_selectors(selector)


def configurable(complete_selector: str) -> Configurable:
    """Returns the registered configurable of a complete selector."""
    return _gin._REGISTRY[complete_selector]


def lookup(fn_or_cls: Callable) -> Configurable | None:
    """Returns what a function or class is registered as, or None."""
    try:
        return _gin._inverse_lookup(fn_or_cls)
    except TypeError:  # an unhashable callable cannot be registered
        return None


def minimal_selector(complete_selector: str) -> str:
    """Returns the shortest selector that means this configurable alone."""
    return _gin._REGISTRY.minimal_selector(complete_selector)


def is_constant(name: str) -> bool:
    """Whether `%name` is a constant that Python code defined."""
    return bool(_gin._CONSTANTS.matching_selectors(name))


def bindings() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Returns (scope, complete selector) -> {parameter: bound value} of the whole config."""
    return _gin._CONFIG


def operative() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Returns (scope, complete selector) -> {parameter: value} of what was really called."""
    return _gin._OPERATIVE_CONFIG


def search_paths() -> list[str]:
    """Returns the folders in which gin looks for a config file, in order."""
    return list(_gin._LOCATION_PREFIXES)


def no_files_in_folders_without_init() -> None:
    """Keeps gin from taking a folder beside a gin file for the package of an included file.

    Its search in packages fails with a TypeError in one that has no `__init__`, although the file
    is found where gin looks next.
    """
    if hasattr(_resources._parse_config_path, "guarded"):
        return
    parse = _resources._parse_config_path

    def guarded(config_path: str) -> str:
        try:
            return parse(config_path)
        except TypeError as error:
            raise ValueError(f"{config_path} is in no package") from error

    guarded.guarded = True
    _resources._parse_config_path = guarded


def references(value: Any) -> Iterator[Reference]:
    """Yields the gin references in a bound value, however deeply nested."""
    return _gin.iterate_references({None: value})


def effective(complete_selector: str, scopes: list[str]) -> dict[str, Any]:
    """Returns {parameter: bound value} as a call under `scopes` would get it."""
    found: dict[str, Any] = {}
    for depth in range(len(scopes) + 1):
        found.update(bindings().get(("/".join(scopes[:depth]), complete_selector), {}))
    return found


def signature(fn_or_cls: Callable) -> inspect.Signature | None:
    """Returns the parameters that gin can bind (no `self`), or None for an opaque builtin."""
    if inspect.isclass(fn_or_cls):
        for base in inspect.getmro(fn_or_cls):
            constructor = base.__dict__.get("__init__") or base.__dict__.get("__new__")
            if constructor is not None:
                break
        constructor = getattr(constructor, "__func__", constructor)
        try:
            found = inspect.signature(constructor)
        except (TypeError, ValueError):
            return None
        return found.replace(parameters=list(found.parameters.values())[1:])
    try:
        return inspect.signature(fn_or_cls)
    except (TypeError, ValueError):
        return None
