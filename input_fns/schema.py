"""What a record holds: one description from which parsing, columns and serving are made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import gin

from .errors import did_you_mean

_DTYPES = ("string", "int64", "float32")


@dataclasses.dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
        name: its key among the features, and its column or tf.Example key.
        dtype: 'string', 'int64' or 'float32'.
        shape: shape of one value; () for a scalar.
        default: value where a record has none; None makes the feature required.
        vocabulary: the known values of a categorical feature, or None.
        hash_buckets: number of buckets that a categorical string or integer is hashed to, or None.
        num_buckets: number of ids 0 … n-1 of a categorical int64, or None.
        boundaries: ascending limits at which a numeric feature is cut into buckets, or None.
        mean: subtracted from a numeric feature.
        std: what the difference is divided by; positive.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    default: Any = None
    vocabulary: tuple | None = None
    hash_buckets: int | None = None
    num_buckets: int | None = None
    boundaries: tuple[float, ...] | None = None
    mean: float = 0.0
    std: float = 1.0

    @property
    def categorical(self) -> bool:
        """Whether the values are categories rather than quantities."""
        return (self.vocabulary or self.hash_buckets or self.num_buckets) is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in a table: its name, or `name_0` … `name_{n-1}` for the shape (n,)."""
        if not self.shape:
            return (self.name,)
        if len(self.shape) > 1:
            raise ValueError(
                f"Schema.features[{self.name!r}] has the shape {self.shape}, which a table of "
                f"columns cannot hold; give it at most one dimension."
            )
        return tuple(f"{self.name}_{i}" for i in range(self.shape[0]))


_KEYS = tuple(field.name for field in dataclasses.fields(Feature) if field.name != "name")


@gin.configurable(module="genever")
class Schema:
    """The features of a record, which of them is the label, and which the weight.

    Attributes:
        features: every `Feature` by name, in the order given.
        inputs: those that the model computes from: all but label and weight.
        label: the label's `Feature`, or None.
        weight: the weight's `Feature`, or None. It stays among the features of a batch.
    """

    def __init__(
        self,
        features: Mapping[str, Mapping[str, Any]],
        label: str | None = None,
        weight: str | None = None,
    ):
        """Makes a schema.

        Args:
            features: for each name a dict with any of the keys dtype ('string', 'int64' or
                'float32'; by default 'string' for a vocabulary of strings or hash_buckets, 'int64'
                for num_buckets or a vocabulary of integers, else 'float32'), shape, default,
                vocabulary, hash_buckets, num_buckets, boundaries, mean, std (see `Feature`).
            label: name of the feature to predict, or None.
            weight: name of the feature that weighs each example, or None.

        Raises:
            ValueError: an unknown key, contradictory keys, a wrong type, or a label or weight that
                is not a feature.
        """
        if not isinstance(features, Mapping) or not features:
            raise ValueError(
                f"Schema.features is {features!r}; give a dict of feature name to a dict, such as "
                f"{{'age': {{}}}}."
            )
        self.features: dict[str, Feature] = {
            name: _make_feature(name, spec) for name, spec in features.items()
        }
        self.label = self._special("label", label)
        self.weight = self._special("weight", weight)
        if self.label is not None and self.label is self.weight:
            raise ValueError(
                f"Schema.label and Schema.weight are both {label!r}; use two features."
            )
        if self.weight is not None and (self.weight.dtype == "string" or self.weight.categorical):
            raise ValueError(
                f"Schema.weight names {weight!r}, which is not a number; use a float32."
            )
        self.inputs: dict[str, Feature] = {
            name: feature
            for name, feature in self.features.items()
            if feature is not self.label and feature is not self.weight
        }

    def parsing_spec(self, label: bool = True) -> dict[str, Any]:
        """Returns what `tf.io.parse_example` needs.

        Args:
            label: False leaves out label and weight, as a serving request does.

        Returns:
            A dict of feature name to `tf.io.FixedLenFeature`.
        """
        import tensorflow as tf

        wanted = self.features if label else self.inputs
        return {
            name: tf.io.FixedLenFeature(
                feature.shape, tf.dtypes.as_dtype(feature.dtype), _filled(feature)
            )
            for name, feature in wanted.items()
        }

    def _special(self, role: str, name: str | None) -> Feature | None:
        if name is None:
            return None
        if name not in self.features:
            raise ValueError(
                f"Schema.{role} names {name!r}, which is not in Schema.features"
                f"{did_you_mean(str(name), self.features) or '; add it there.'}"
            )
        return self.features[name]


def _filled(feature: Feature) -> Any:
    """The default in the feature's shape, as FixedLenFeature wants it."""
    value = feature.default
    if value is None:
        return None
    for size in reversed(feature.shape):
        value = [value] * size
    return value


def _make_feature(name: str, spec: Mapping[str, Any]) -> Feature:
    where = f"Schema.features[{name!r}]"
    if not isinstance(name, str) or not name:
        raise ValueError(f"Schema.features has the key {name!r}; a feature's name is a string.")
    if not isinstance(spec, Mapping):
        raise ValueError(
            f"{where} is {spec!r}; give a dict with any of the keys {', '.join(_KEYS)}."
        )
    for key in spec:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS) or f"; the keys are {', '.join(_KEYS)}."
            raise ValueError(f"{where} has no key {key!r}{hint}")

    vocabulary = _vocabulary(where, spec.get("vocabulary"))
    hash_buckets = _positive_int(where, spec, "hash_buckets")
    num_buckets = _positive_int(where, spec, "num_buckets")
    boundaries = _boundaries(where, spec.get("boundaries"))
    _refuse_contradictions(where, spec)

    dtype = spec.get("dtype")
    if dtype is None:
        dtype = "float32"
        if hash_buckets is not None or (vocabulary and isinstance(vocabulary[0], str)):
            dtype = "string"
        elif num_buckets is not None or vocabulary:
            dtype = "int64"
    dtype = getattr(dtype, "name", dtype)
    if dtype not in _DTYPES:
        hint = did_you_mean(str(dtype), _DTYPES) or f"; it is one of {', '.join(_DTYPES)}."
        raise ValueError(f"{where}['dtype'] is {dtype!r}{hint}")
    _refuse_dtype(where, spec, dtype, vocabulary)

    return Feature(
        name=name,
        dtype=dtype,
        shape=_shape(where, spec.get("shape", ())),
        default=_default(where, spec.get("default"), dtype),
        vocabulary=vocabulary,
        hash_buckets=hash_buckets,
        num_buckets=num_buckets,
        boundaries=boundaries,
        mean=_number(where, spec, "mean", 0.0),
        std=_number(where, spec, "std", 1.0),
    )


def _vocabulary(where: str, value: Any) -> tuple | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(
            f"{where}['vocabulary'] is {value!r}; give a list with at least one value."
        )
    if not (all(isinstance(item, str) for item in value) or all(_is_int(item) for item in value)):
        raise ValueError(f"{where}['vocabulary'] is {value!r}; give strings only or integers only.")
    repeated = next((item for i, item in enumerate(value) if item in value[:i]), None)
    if repeated is not None:
        raise ValueError(f"{where}['vocabulary'] has {repeated!r} twice; name each value once.")
    return tuple(value)


def _positive_int(where: str, spec: Mapping[str, Any], key: str) -> int | None:
    value = spec.get(key)
    if value is not None and (not _is_int(value) or value < 1):
        raise ValueError(f"{where}[{key!r}] is {value!r}; give a whole number of at least 1.")
    return value


def _boundaries(where: str, value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    ok = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    if not ok or not all(_is_number(item) for item in value):
        raise ValueError(f"{where}['boundaries'] is {value!r}; give a list of numbers.")
    if any(low >= high for low, high in zip(value, value[1:], strict=False)):
        raise ValueError(f"{where}['boundaries'] is {value!r}; give the numbers in rising order.")
    return tuple(float(item) for item in value)


def _refuse_contradictions(where: str, spec: Mapping[str, Any]) -> None:
    given = [key for key in _KEYS if spec.get(key) is not None]
    kinds = [key for key in ("vocabulary", "hash_buckets", "num_buckets") if key in given]
    if len(kinds) > 1:
        raise ValueError(f"{where} has both {kinds[0]!r} and {kinds[1]!r}; keep one of them.")
    numeric = [key for key in ("boundaries", "mean", "std") if key in given]
    if kinds and numeric:
        raise ValueError(
            f"{where} has both {kinds[0]!r}, which makes it categorical, and {numeric[0]!r}, which "
            f"is for numbers; keep one of them."
        )
    if "boundaries" in numeric and len(numeric) > 1:
        raise ValueError(
            f"{where} has both 'boundaries' and {numeric[1]!r}; boundaries are in the feature's "
            f"own unit, so keep one of them."
        )


def _refuse_dtype(
    where: str, spec: Mapping[str, Any], dtype: str, vocabulary: tuple | None
) -> None:
    if vocabulary is not None:
        fits = "string" if isinstance(vocabulary[0], str) else "int64"
        if dtype != fits:
            raise ValueError(
                f"{where} has the dtype {dtype!r} and a vocabulary of {fits}; make them the same."
            )
    if spec.get("num_buckets") is not None and dtype != "int64":
        raise ValueError(f"{where} has 'num_buckets' and the dtype {dtype!r}; use 'int64'.")
    if spec.get("hash_buckets") is not None and dtype == "float32":
        raise ValueError(f"{where} has 'hash_buckets' and the dtype 'float32'; use 'string'.")
    for key in ("boundaries", "mean", "std"):
        if dtype == "string" and spec.get(key) is not None:
            raise ValueError(f"{where} is a string, so {key!r} means nothing; leave it out.")


def _shape(where: str, value: Any) -> tuple[int, ...]:
    sizes = (value,) if _is_int(value) else value
    if (
        isinstance(sizes, str)
        or not isinstance(sizes, Sequence)
        or not all(_is_int(size) and size > 0 for size in sizes)
    ):
        raise ValueError(f"{where}['shape'] is {value!r}; give a list of positive sizes, or [].")
    return tuple(sizes)


def _default(where: str, value: Any, dtype: str) -> Any:
    if value is None:
        return None
    fits = {"string": isinstance(value, str), "int64": _is_int(value), "float32": _is_number(value)}
    if not fits[dtype]:
        raise ValueError(f"{where}['default'] is {value!r}, not a {dtype}; give one of that type.")
    return float(value) if dtype == "float32" else value


def _number(where: str, spec: Mapping[str, Any], key: str, otherwise: float) -> float:
    value = spec.get(key)
    if value is None:
        return otherwise
    if not _is_number(value) or not math.isfinite(value) or (key == "std" and value <= 0):
        kind = "a positive number" if key == "std" else "a number"
        raise ValueError(f"{where}[{key!r}] is {value!r}; give {kind}.")
    return float(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
