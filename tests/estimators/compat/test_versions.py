"""Which TensorFlow is found, and what is said about one that is too old or too new."""

import importlib.metadata

import pytest
from genever.estimators import compat
from genever.estimators.compat import versions

pytestmark = pytest.mark.core

KERAS_2 = "keras" if compat.tensorflow_version() == (2, 15) else "tf_keras"


def test_the_installed_version_is_found_without_tensorflow():
    installed = importlib.metadata.version("tensorflow")
    major, minor = compat.tensorflow_version()
    assert installed.startswith(f"{major}.{minor}.")
    assert f"{major}.{minor}" in compat.SUPPORTED_TENSORFLOW


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2.21.0", (2, 21)), ("2.16.0-rc1", (2, 16)), ("2.22.0-dev20260101", (2, 22))],
)
def test_versions_are_read(text, numbers):
    assert versions.parse(text) == numbers


def test_an_unreadable_version_is_named():
    with pytest.raises(ImportError, match="calls its version 'unknown'"):
        versions.parse("unknown")


@pytest.fixture
def pretended(tmp_path):
    """A folder for PYTHONPATH in which another TensorFlow version is on record."""

    def record(version):
        folder = tmp_path / f"tensorflow-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: tensorflow\nVersion: {version}\n"
        )
        return str(tmp_path)

    return record


def test_a_newer_tensorflow_warns_once_and_is_tried(output_of, pretended):
    program = """
        import warnings
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            import genever
            from genever.estimators import compat
            compat.install()
            import tensorflow as tf
            tf.estimator.Estimator
        print(*[w.message for w in seen if "Genever" in str(w.message)], sep="\\n")
    """
    assert output_of(program, PYTHONPATH=pretended("2.99.1")) == [
        "Genever is tested with TensorFlow 2.15 to 2.21; "
        "TensorFlow 2.99 is newer and is tried as it is."
    ]


def test_an_older_tensorflow_is_refused(run_python, pretended):
    ended = run_python("import genever", PYTHONPATH=pretended("2.14.0"))
    assert ended.returncode == 1
    assert ended.stderr.strip().endswith(
        "ImportError: Genever needs TensorFlow 2.15 or newer, but 2.14 is installed."
    )


def test_a_tensorflow_that_no_package_records_gets_the_bridge_too(output_of):
    program = """
        import importlib.metadata
        version = importlib.metadata.version

        def hidden(name):
            if name.startswith(("tensorflow", "tf-nightly", "intel")):
                raise importlib.metadata.PackageNotFoundError(name)
            return version(name)

        importlib.metadata.version = hidden
        import genever
        from genever.estimators import compat
        print(compat.tensorflow_version())
        import tensorflow as tf
        print(tf.estimator.Estimator.__name__, tf.keras.Model.__module__.split(".")[0])
    """
    assert output_of(program) == ["None", f"EstimatorV2 {KERAS_2}"]


def test_a_patch_that_a_newer_tensorflow_defeats_leaves_tensorflow_usable(output_of):
    program = """
        import warnings
        from genever.estimators.compat import export_constants, versions
        from genever.estimators import compat

        def moved(tf):
            raise AttributeError("tf_export is gone")

        moved.__module__ = export_constants.__name__
        compat._PATCHES = (moved,)
        versions.FIRST_WITHOUT_ESTIMATOR = (2, 1)
        versions.NEWEST = (2, 2)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            import tensorflow as tf
        print(int(tf.constant(3)))
        print([str(w.message) for w in seen if "could not adapt" in str(w.message)][0])
    """
    lines = output_of(program)
    assert lines[0] == "3"
    assert lines[1].startswith("Genever could not adapt TensorFlow 2.")
    assert "(genever.estimators.compat.export_constants: tf_export is gone)" in lines[1]
