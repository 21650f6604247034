"""`tf.contrib.training.HParams`: named hyperparameters whose types are kept.

Replaces: the class of that name, gone since TensorFlow 2.0; written from its documentation. Missing
public API: TensorFlow has none for hyperparameters.
"""

import json
import numbers
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PAIR = re.compile(
    r"""
    \s*(?P<name>[a-zA-Z][\w.]*)\s*
    (\[\s*(?P<index>\d+)\s*\]\s*)?
    =\s*
    (\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))
    \s*(,|$)
    """,
    re.VERBOSE,
)
_BOOLS = {"true": True, "1": True, "false": False, "0": False}


class HParams:
    """Hyperparameters as attributes; each keeps the type of its first value.

    Args:
      hparam_def: not supported; the protocol buffer is gone from TensorFlow.
      model_structure: any object, handed back by `get_model_structure`.
      **kwargs: name and value of each hyperparameter. A value is an int, float, bool, str or None,
        or a list of values of one type.

    Raises:
      ValueError: a name is taken by a method, or a list is empty.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any):
        if hparam_def is not None:
            raise ValueError(
                "HParams: hparam_def is a protocol buffer that TensorFlow no longer has; give the "
                "hyperparameters as keyword arguments, or use parse_json"
            )
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter.

        Raises:
          ValueError: the name is taken, or the value is an empty list.
        """
        if getattr(self, name, None) is not None or name in self._types:
            raise ValueError(f"HParams: the name '{name}' is taken; choose another one")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(
                    f"HParams: '{name}' is an empty list, whose type is not known; give it a value"
                )
            self._types[name] = (type(value[0]), True)
        else:
            self._types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Gives an existing hyperparameter a new value of its type.

        Raises:
          KeyError: there is no such hyperparameter.
          ValueError: the value has another type, or is a list where none belongs.
        """
        kind, is_list = self._types[name]
        if isinstance(value, (list, tuple)):
            if not is_list:
                raise ValueError(f"HParams: '{name}' is one value and not a list; got {value!r}")
            setattr(self, name, [_cast(name, kind, item) for item in value])
        else:
            if is_list:
                raise ValueError(f"HParams: '{name}' is a list and not one value; got {value!r}")
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter; does nothing where there is none."""
        if name in self._types:
            delattr(self, name)
            del self._types[name]

    def parse(self, values: str) -> "HParams":
        """Overrides hyperparameters from text such as `rate=0.1,units=[8,4],units[1]=2,name=a`.

        Returns:
          this object.

        Raises:
          ValueError: the text cannot be read, or names or types are wrong.
        """
        return self.override_from_dict(parse_values(values, self._types, self.values()))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> "HParams":
        """Gives the hyperparameters of `values_dict` new values and returns this object.

        Raises:
          KeyError: there is no such hyperparameter.
          ValueError: a value has another type than its hyperparameter.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> "HParams":
        """Overrides hyperparameters from a JSON object and returns this object.

        Raises:
          KeyError: there is no such hyperparameter.
          ValueError: the text is no JSON, or a value has another type than its hyperparameter.
        """
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent=None, separators=None, sort_keys=False) -> str:
        """Returns the hyperparameters as a JSON object; functions are left out.

        Args:
          indent: as for `json.dumps`.
          separators: as for `json.dumps`.
          sort_keys: as for `json.dumps`.
        """
        values = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Returns names and values."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of `key`, or `default` where there is none.

        Raises:
          ValueError: the default has another type than the hyperparameter.
        """
        if key not in self._types:
            return default
        if default is not None:
            kind, is_list = self._types[key]
            if is_list != isinstance(default, (list, tuple)):
                raise ValueError(f"HParams: the default {default!r} is not of the type of '{key}'")
            for item in default if is_list else [default]:
                _cast(key, kind, item)
        return getattr(self, key)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps any object beside the hyperparameters."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Returns what `set_model_structure` was given."""
        return self._model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"HParams({self})"


def parse_values(
    values: str,
    type_map: Mapping[str, Any],
    current: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Reads `name=value,name=[value,value],name[index]=value`.

    Args:
      values: the text.
      type_map: by name the type, or (type, whether it is a list).
      current: values that `name[index]` changes; without it, `name[index]` gives {index: value}.

    Returns:
      the value of each name that the text holds.

    Raises:
      ValueError: a part cannot be read, a name is unknown or given twice, or a type is wrong.
    """
    found: dict[str, Any] = {}
    indexed: set[tuple[str, int]] = set()
    for pair in _pairs(values):
        name, index, items, text = pair["name"], pair["index"], pair["list"], pair["value"]
        if name not in type_map:
            raise ValueError(
                f"HParams: there is no '{name}'; the names are {', '.join(sorted(type_map))}"
            )
        known = type_map[name]
        kind, is_list = known if isinstance(known, tuple) else (known, None)
        if index is not None:
            if items is not None or is_list is False:
                raise ValueError(f"HParams: '{pair[0].strip(', ')}' is no value of a list")
            _set_item(found, indexed, name, int(index), _read(name, kind, text), current)
            continue
        if name in found:
            raise ValueError(f"HParams: '{name}' is given twice in {values!r}")
        if items is not None:
            if is_list is False:
                raise ValueError(f"HParams: '{name}' is one value and not a list; got [{items}]")
            found[name] = [_read(name, kind, item) for item in items.split(",") if item.strip()]
        elif is_list:
            raise ValueError(f"HParams: '{name}' is a list; write {name}=[{text.strip()}]")
        else:
            found[name] = _read(name, kind, text)
    return found


def _pairs(values: str) -> Iterator[re.Match]:
    at = 0
    while values[at:].strip():
        pair = _PAIR.match(values, at)
        if pair is None:
            raise ValueError(
                f"HParams: {values[at:]!r} cannot be read; write name=value or name=[value,value], "
                "separated by commas"
            )
        at = pair.end()
        yield pair


def _set_item(found, indexed, name, index, value, current) -> None:
    if (name, index) in indexed:
        raise ValueError(f"HParams: '{name}[{index}]' is given twice")
    indexed.add((name, index))
    items = found.setdefault(name, {} if current is None else list(current[name]))
    if isinstance(items, list) and index >= len(items):
        raise ValueError(
            f"HParams: '{name}' has {len(items)} values, so there is no {name}[{index}]"
        )
    items[index] = value


def _read(name: str, kind: type, text: str) -> Any:
    text = text.strip()
    try:
        if kind is type(None):
            return text
        if issubclass(kind, bool):
            return _BOOLS[text.lower()]
        return kind(text)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"HParams: '{name}' is of type {kind.__name__}; got '{text}'") from None


def _cast(name: str, kind: type, value: Any) -> Any:
    """Returns the value as the type of its hyperparameter, where nothing is lost by it."""
    if kind is type(None) or value is None:
        return value
    fits = {
        str: isinstance(value, (str, bytes)),
        bytes: isinstance(value, (str, bytes)),
        bool: isinstance(value, bool),
    }.get(kind)
    if fits is None:
        if issubclass(kind, numbers.Integral):
            fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        elif issubclass(kind, numbers.Number):
            fits = isinstance(value, numbers.Number) and not isinstance(value, bool)
        else:
            return value
    if not fits:
        raise ValueError(f"HParams: '{name}' is of type {kind.__name__}; got {value!r}")
    if isinstance(value, bytes) and kind is str:
        return value.decode()
    if isinstance(value, str) and kind is bytes:
        return value.encode()
    return kind(value)
