"""What is trained: model_fns, `RunConfig`, strategies, optimizers, exporters, metrics.

Every name here is a gin configurable of the module `genever`, loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["compat"],
    submod_attrs={
        "canned": [
            "BaselineClassifier",
            "BaselineRegressor",
            "DNNClassifier",
            "DNNLinearCombinedClassifier",
            "DNNLinearCombinedRegressor",
            "DNNRegressor",
            "LinearClassifier",
            "LinearRegressor",
        ],
        "cross_device_ops": [
            "CommunicationOptions",
            "HierarchicalCopyAllReduce",
            "NcclAllReduce",
            "ReductionToOneDevice",
        ],
        "early_stopping": ["EarlyStopping"],
        "estimator": ["Estimator"],
        "exporters": [
            "BestExporter",
            "FinalExporter",
            "LatestExporter",
            "serving_input_receiver_fn",
        ],
        "feature_columns": ["dnn_columns", "linear_columns"],
        "keras_optimizers": [
            "SGD",
            "Adadelta",
            "Adagrad",
            "Adam",
            "Adamax",
            "Ftrl",
            "Nadam",
            "RMSprop",
        ],
        "linear_regression_model": ["linear_regression"],
        "metrics": ["binary_classification_metrics", "regression_metrics"],
        "model_parallel": ["shard_devices_hook", "sharded_dense", "sharded_embedding"],
        "optimizers": [
            "AdadeltaOptimizer",
            "AdagradOptimizer",
            "AdamOptimizer",
            "FtrlOptimizer",
            "GradientDescentOptimizer",
            "MomentumOptimizer",
            "ProximalAdagradOptimizer",
            "ProximalGradientDescentOptimizer",
            "RMSPropOptimizer",
        ],
        "partitioners": ["fixed_size_partitioner", "min_max_variable_partitioner"],
        "portable_scaffold": ["portable_scaffold"],
        "run_config": ["ConfigProto", "GPUOptions", "RunConfig"],
        "schedules": [
            "cosine_decay",
            "exponential_decay",
            "inverse_time_decay",
            "piecewise_constant",
            "polynomial_decay",
        ],
        "sharded_linear_model": ["sharded_linear"],
        "specs": ["EvalSpec", "TrainSpec"],
        "strategies": [
            "CentralStorageStrategy",
            "MirroredStrategy",
            "MultiWorkerMirroredStrategy",
            "OneDeviceStrategy",
            "ParameterServerStrategy",
            "TPUStrategy",
        ],
        "tpu_estimator": ["TPUClusterResolver", "TPUConfig", "TPUEstimator", "TPURunConfig"],
        "training": ["create_train_op"],
        "warm_start": ["WarmStartSettings"],
        "wide_deep_model": ["wide_deep"],
    },
)
