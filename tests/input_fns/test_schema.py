"""The schema: what it derives, and how it names a user's mistake."""

import gin
import pytest
from genever.input_fns import Schema

pytestmark = pytest.mark.core

FEATURES = {
    "carrier": {"vocabulary": ["AA", "UA"], "default": "?"},
    "dest": {"hash_buckets": 100},
    "month": {"num_buckets": 13, "default": 0},
    "stars": {"vocabulary": [1, 2, 3]},
    "distance": {"mean": 1000, "std": 700.0, "default": 1},
    "pixels": {"shape": [2, 2], "default": 0.5},
    "age": {"dtype": "int64", "boundaries": [18, 65]},
    "importance": {},
    "late": {},
}


def test_dtypes_follow_from_the_kind_of_feature():
    schema = Schema(FEATURES, label="late", weight="importance")
    assert {name: feature.dtype for name, feature in schema.features.items()} == {
        "carrier": "string",
        "dest": "string",
        "month": "int64",
        "stars": "int64",
        "distance": "float32",
        "pixels": "float32",
        "age": "int64",
        "importance": "float32",
        "late": "float32",
    }
    assert list(schema.inputs) == list(FEATURES)[:-2]
    assert (schema.label.name, schema.weight.name) == ("late", "importance")
    assert [name for name, feature in schema.features.items() if feature.categorical] == [
        "carrier",
        "dest",
        "month",
        "stars",
    ]
    assert schema.features["age"].boundaries == (18.0, 65.0)
    assert schema.features["carrier"].vocabulary == ("AA", "UA")


def test_parsing_spec_has_shapes_and_defaults():
    import tensorflow as tf

    schema = Schema(FEATURES, label="late", weight="importance")
    spec = schema.parsing_spec()
    assert list(spec) == list(FEATURES)
    assert spec["carrier"] == tf.io.FixedLenFeature((), tf.string, "?")
    assert spec["dest"] == tf.io.FixedLenFeature((), tf.string, None)
    assert spec["month"] == tf.io.FixedLenFeature((), tf.int64, 0)
    assert spec["pixels"] == tf.io.FixedLenFeature((2, 2), tf.float32, [[0.5, 0.5], [0.5, 0.5]])
    assert list(schema.parsing_spec(label=False)) == list(FEATURES)[:-2]
    empty = tf.train.Example().SerializeToString()
    parsed = tf.io.parse_example([empty], {"pixels": spec["pixels"], "month": spec["month"]})
    assert parsed["pixels"].numpy().tolist() == [[[0.5, 0.5], [0.5, 0.5]]]
    assert parsed["month"].numpy().tolist() == [0]


def test_schema_is_a_gin_configurable():
    gin.parse_config("""
        genever.Schema.features = {'x': {'shape': [2]}, 'y': {}}
        genever.Schema.label = 'y'
    """)
    try:
        schema = Schema()
        assert schema.inputs["x"].shape == (2,)
        assert schema.label.dtype == "float32"
    finally:
        gin.clear_config()


MISTAKES = [
    ({"carrier": {"vocabulry": ["a"]}}, {}, "['carrier'] has no key 'vocabulry'; did you mean 'v"),
    (
        {"carrier": {"colour": 1}},
        {},
        "Schema.features['carrier'] has no key 'colour'; the keys are",
    ),
    ({"x": {"dtype": "float"}}, {}, "['x']['dtype'] is 'float'; did you mean 'float32'?"),
    ({"x": {"dtype": "complex"}}, {}, "['x']['dtype'] is 'complex'; it is one of string, int64"),
    ({"x": 3}, {}, "Schema.features['x'] is 3; give a dict with any of the keys dtype, shape"),
    ({}, {}, "Schema.features is {}; give a dict"),
    ({"x": {"vocabulary": []}}, {}, "['x']['vocabulary'] is []; give a list with at least one"),
    ({"x": {"vocabulary": "abc"}}, {}, "['x']['vocabulary'] is 'abc'; give a list"),
    ({"x": {"vocabulary": ["a", 1]}}, {}, "give strings only or integers only"),
    ({"x": {"vocabulary": ["a", "a"]}}, {}, "['x']['vocabulary'] has 'a' twice"),
    ({"x": {"vocabulary": ["a"], "hash_buckets": 3}}, {}, "both 'vocabulary' and 'hash_buckets'"),
    ({"x": {"hash_buckets": 0}}, {}, "['x']['hash_buckets'] is 0; give a whole number of at least"),
    ({"x": {"num_buckets": 2.5}}, {}, "['x']['num_buckets'] is 2.5"),
    ({"x": {"num_buckets": 5, "dtype": "string"}}, {}, "has 'num_buckets' and the dtype 'string'"),
    ({"x": {"hash_buckets": 5, "std": 2}}, {}, "both 'hash_buckets', which makes it categorical"),
    (
        {"x": {"boundaries": [2, 1]}},
        {},
        "['x']['boundaries'] is [2, 1]; give the numbers in rising",
    ),
    ({"x": {"boundaries": [1], "mean": 3}}, {}, "both 'boundaries' and 'mean'"),
    ({"x": {"std": 0}}, {}, "['x']['std'] is 0; give a positive number"),
    ({"x": {"mean": "3"}}, {}, "['x']['mean'] is '3'; give a number"),
    ({"x": {"dtype": "string", "mean": 3}}, {}, "is a string, so 'mean' means nothing"),
    ({"x": {"shape": [-1]}}, {}, "['x']['shape'] is [-1]; give a list of positive sizes"),
    ({"x": {"default": "a"}}, {}, "['x']['default'] is 'a', not a float32"),
    (
        {"x": {"vocabulary": ["a"], "dtype": "int64"}},
        {},
        "the dtype 'int64' and a vocabulary of st",
    ),
    (
        {"late": {}},
        {"label": "lat"},
        "Schema.label names 'lat', which is not in Schema.features; d",
    ),
    (
        {"late": {}},
        {"weight": "w"},
        "Schema.weight names 'w', which is not in Schema.features; add",
    ),
    ({"late": {}}, {"label": "late", "weight": "late"}, "Schema.label and Schema.weight are both"),
    ({"w": {"hash_buckets": 3}}, {"weight": "w"}, "Schema.weight names 'w', which is not a number"),
]


@pytest.mark.parametrize(("features", "roles", "message"), MISTAKES)
def test_mistake_is_named(features, roles, message):
    with pytest.raises(ValueError) as caught:
        Schema(features, **roles)
    assert message in str(caught.value)
    assert "Schema" in str(caught.value)
