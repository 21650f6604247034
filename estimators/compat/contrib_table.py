"""Where the names of `tf.contrib` live today: data, and no TensorFlow.

`tf.contrib` ended with TensorFlow 1. Everything here is a place or advice. A place is a dotted path
without spaces: `tf.…` is an attribute of tensorflow.compat.v1, `.…` is a module of this package,
anything else is imported. Advice ends the sentence "… ended with TensorFlow 1; ".
"""

from collections.abc import Mapping
from typing import NamedTuple

NOTHING = "nothing replaces it"
_SLIM = ("tf_slim",)
_TFP = "install tensorflow-probability and use "
_IO = "install tensorflow-io and use "
_TREES = "install ydf (YDF trains decision forests and exports SavedModels)"
_HEAD = (
    "write tf.compat.v2.estimator.{} and give it to an Estimator of tf.compat.v2.estimator, whose "
    "optimizers are those of tf.keras"
)
_OWN_COPY = (
    "it lived on in tensorflow-addons, which is no longer developed: copy {} of its last release "
    "(0.23, Apache 2.0) into your project{}"
)


class Module(NamedTuple):
    """A module of `tf.contrib`.

    Attributes:
      homes: places that are searched, in order, for a name that `names` does not hold.
      names: single names, each with its place or advice.
      advice: for every other name, and for the module where it has no homes.
    """

    homes: tuple[str, ...] = ()
    names: Mapping[str, str] = {}
    advice: str = NOTHING


_FEATURE_COLUMNS = {
    "bucketized_column": "write tf.feature_column.bucketized_column",
    "crossed_column": "write tf.feature_column.crossed_column",
    "embedding_column": "write tf.feature_column.embedding_column",
    "one_hot_column": "write tf.feature_column.indicator_column",
    "real_valued_column": "write tf.feature_column.numeric_column",
    "scattered_embedding_column": "write tf.feature_column.embedding_column",
    "shared_embedding_columns": "write tf.feature_column.shared_embedding_columns",
    "sparse_column_with_hash_bucket": "write tf.feature_column.categorical_column_with_hash_bucket",
    "sparse_column_with_integerized_feature": (
        "write tf.feature_column.categorical_column_with_identity"
    ),
    "sparse_column_with_keys": "write tf.feature_column.categorical_column_with_vocabulary_list",
    "sparse_column_with_vocabulary_file": (
        "write tf.feature_column.categorical_column_with_vocabulary_file"
    ),
    "weighted_sparse_column": "write tf.feature_column.weighted_categorical_column",
    "create_feature_spec_for_parsing": "write tf.feature_column.make_parse_example_spec",
    "input_from_feature_columns": "write tf.feature_column.input_layer",
    "joint_weighted_sum_from_feature_columns": "write tf.feature_column.linear_model",
    "weighted_sum_from_feature_columns": "write tf.feature_column.linear_model",
    "parse_feature_columns_from_examples": (
        "write tf.parse_example with tf.feature_column.make_parse_example_spec"
    ),
    "sequence_input_from_feature_columns": "write tf.keras.experimental.SequenceFeatures",
}

MODULES: Mapping[str, Module] = {
    # --- layers and slim -------------------------------------------------------------------------
    "slim": Module(
        homes=_SLIM,
        names={"nets": "tf_slim.nets"},
        advice="tf_slim, where slim lives on, has no such name",
    ),
    "layers": Module(
        homes=("tf_slim.layers", "tf_slim"),
        names={
            **_FEATURE_COLUMNS,
            "embed_sequence": "write tf.nn.embedding_lookup on a tf.get_variable",
            "embedding_lookup_unique": "write tf.nn.embedding_lookup on tf.unique ids",
            "safe_embedding_lookup_sparse": "tf.nn.safe_embedding_lookup_sparse",
            "initializers": "tf_slim.layers.initializers",
            "optimizers": "tf_slim.layers.optimizers",
            "regularizers": "tf_slim.layers.regularizers",
            "summaries": "tf_slim.layers.summaries",
            "utils": "tf_slim.layers.utils",
            "OPTIMIZER_CLS_NAMES": "tf_slim.layers.optimizers.OPTIMIZER_CLS_NAMES",
            "OPTIMIZER_SUMMARIES": "tf_slim.layers.optimizers.OPTIMIZER_SUMMARIES",
        },
        advice="tf_slim, where contrib.layers lives on, has no such name",
    ),
    "losses": Module(homes=("tf_slim.losses",), advice="use tf.losses"),
    "metrics": Module(
        homes=("tf_slim.metrics",),
        names={
            "confusion_matrix": "tf.math.confusion_matrix",
            "set_difference": "tf.sets.difference",
            "set_intersection": "tf.sets.intersection",
            "set_size": "tf.sets.size",
            "set_union": "tf.sets.union",
        },
        advice="use tf.metrics",
    ),
    # --- framework and training ------------------------------------------------------------------
    "framework": Module(
        homes=("tf_slim.ops.variables", "tf_slim.ops.arg_scope"),
        names={
            # These need no tf_slim, and they are the ones that everyone uses.
            "assert_global_step": "tf.train.assert_global_step",
            "create_global_step": "tf.train.create_global_step",
            "get_global_step": "tf.train.get_global_step",
            "get_or_create_global_step": "tf.train.get_or_create_global_step",
            "init_from_checkpoint": "tf.train.init_from_checkpoint",
            "list_variables": "tf.train.list_variables",
            "load_checkpoint": "tf.train.load_checkpoint",
            "load_variable": "tf.train.load_variable",
            "argsort": "tf.argsort",
            "sort": "tf.sort",
            "assert_same_float_dtype": "tf.debugging.assert_same_float_dtype",
            "assert_scalar": "tf.debugging.assert_scalar",
            "convert_to_tensor_or_sparse_tensor": "tf.convert_to_tensor_or_sparse_tensor",
            "is_tensor": "tf.is_tensor",
            "py_func": "tf.py_func",
            "CriticalSection": "tf.CriticalSection",
            "TensorSpec": "tf.TensorSpec",
            # The public tf.nest lacks flatten_up_to, map_structure_up_to and their like.
            "nest": "tensorflow.python.util.nest",
            # TensorFlow marks its own functions with these and publishes none of them.
            "deprecated": "tensorflow.python.util.deprecation.deprecated",
            "deprecated_arg_values": "tensorflow.python.util.deprecation.deprecated_arg_values",
            "deprecated_args": "tensorflow.python.util.deprecation.deprecated_args",
            # tf.cond has no form that takes a Python bool.
            "smart_case": "tensorflow.python.framework.smart_cond.smart_case",
            "smart_cond": "tensorflow.python.framework.smart_cond.smart_cond",
            "smart_constant_value": "tf.get_static_value",
            "BoundedTensorSpec": "write tf.TensorSpec",
            "zero_initializer": "write tf.zeros_initializer",
            "load_and_remap_matrix": (
                "use tf.estimator.WarmStartSettings with tf.estimator.VocabInfo"
            ),
            "load_embedding_initializer": (
                "use tf.estimator.WarmStartSettings with tf.estimator.VocabInfo"
            ),
            "load_variable_slot_initializer": (
                "use tf.estimator.WarmStartSettings with tf.estimator.VocabInfo"
            ),
            "variables": "tf_slim.ops.variables",
            "arg_scope_lib": "tf_slim.ops.arg_scope",
            "checkpoint_utils": "tf.train",
        },
        advice="neither tf_slim nor tf.train has such a name",
    ),
    "training": Module(
        homes=("tf_slim.training.evaluation", "tf_slim.training"),
        names={
            "HParams": ".contrib_hparams.HParams",
            "hparam": ".contrib_hparams",
            "parse_values": ".contrib_hparams.parse_values",
            "basic_train_loop": "tf.train.basic_train_loop",
            "checkpoints_iterator": "tf.train.checkpoints_iterator",
            "batch_sequences_with_states": "use Dataset.padded_batch and tf.nn.dynamic_rnn",
            "bucket": "use tf.data.experimental.bucket_by_sequence_length",
            "bucket_by_sequence_length": "use tf.data.experimental.bucket_by_sequence_length",
            "rejection_sample": "use tf.data.experimental.rejection_resample",
            "resample_at_rate": "use tf.data.experimental.rejection_resample",
            "stratified_sample": "use tf.data.experimental.rejection_resample",
            "weighted_resample": "use tf.data.experimental.sample_from_datasets",
            "GreedyLoadBalancingStrategy": (
                "leave ps_strategy out: tf.train.replica_device_setter goes round the ps tasks"
            ),
            "RandomStrategy": (
                "leave ps_strategy out: tf.train.replica_device_setter goes round the ps tasks"
            ),
            "byte_size_load_fn": (
                "leave ps_strategy out: tf.train.replica_device_setter goes round the ps tasks"
            ),
            "NextQueuedSequenceBatch": "use Dataset.padded_batch and tf.nn.dynamic_rnn",
            "SequenceQueueingStateSaver": "use Dataset.padded_batch and tf.nn.dynamic_rnn",
            "python_input": "use tf.data.Dataset.from_generator",
        },
        advice="neither tf.train nor tf_slim.training has such a name",
    ),
    "hooks": Module(
        names={"ProfilerHook": "tf.train.ProfilerHook"}, advice="use the hooks of tf.train"
    ),
    # --- Estimators ------------------------------------------------------------------------------
    "estimator": Module(
        homes=("tf.estimator.experimental", "tf.estimator"),
        names={
            "RNNClassifier": "tensorflow.estimator.experimental.RNNClassifier",
            "RNNEstimator": "tensorflow.estimator.experimental.RNNEstimator",
            "SavedModelEstimator": (
                # Never published, although Estimators can train on from a SavedModel.
                "tensorflow_estimator.python.estimator.canned.saved_model_estimator."
                "SavedModelEstimator"
            ),
            "binary_classification_head": _HEAD.format("BinaryClassHead"),
            "logistic_regression_head": _HEAD.format("LogisticRegressionHead"),
            "multi_class_head": _HEAD.format("MultiClassHead"),
            "multi_head": _HEAD.format("MultiHead"),
            "multi_label_head": _HEAD.format("MultiLabelHead"),
            "poisson_regression_head": _HEAD.format("PoissonRegressionHead"),
            "regression_head": _HEAD.format("RegressionHead"),
            "boosted_trees_classifier_train_in_memory": _TREES,
            "boosted_trees_regressor_train_in_memory": _TREES,
            "BoostedTreesClassifier": _TREES,
            "BoostedTreesEstimator": _TREES,
            "BoostedTreesRegressor": _TREES,
            "clip_gradients_by_norm": (
                "call tf.clip_by_norm between compute_gradients and apply_gradients"
            ),
            "export_all_saved_models": "call estimator.experimental_export_all_saved_models",
            "export_saved_model_for_mode": (
                "call estimator.export_saved_model with experimental_mode"
            ),
            "extractors": "write a model_fn that returns the features as predictions",
            "forward_features": "write a model_fn that returns the features as predictions",
            "replicate_model_fn": (
                "give tf.estimator.RunConfig train_distribute=tf.distribute.MirroredStrategy()"
            ),
            "TowerOptimizer": (
                "give tf.estimator.RunConfig train_distribute=tf.distribute.MirroredStrategy()"
            ),
        },
        advice="tf.estimator has no such name",
    ),
    "learn": Module(
        names={
            "ModeKeys": "tf.estimator.ModeKeys",
            "RunConfig": "write tf.estimator.RunConfig",
            "Estimator": "write tf.estimator.Estimator",
            "Experiment": "write tf.estimator.train_and_evaluate",
            "learn_runner": "write tf.estimator.train_and_evaluate",
            "DNNClassifier": "write tf.estimator.DNNClassifier",
            "DNNRegressor": "write tf.estimator.DNNRegressor",
            "DNNLinearCombinedClassifier": "write tf.estimator.DNNLinearCombinedClassifier",
            "DNNLinearCombinedRegressor": "write tf.estimator.DNNLinearCombinedRegressor",
            "LinearClassifier": "write tf.estimator.LinearClassifier",
            "LinearRegressor": "write tf.estimator.LinearRegressor",
            "KMeansClustering": "write tf.estimator.experimental.KMeans",
            "datasets": "use tf.keras.datasets, or install tensorflow-datasets",
            "io": "tf.estimator.inputs",
            "make_export_strategy": "write tf.estimator.LatestExporter",
            "pandas_input_fn": "tf.estimator.inputs.pandas_input_fn",
            "preprocessing": "use tf.keras.preprocessing.text.Tokenizer or a vocabulary column",
            "read_batch_examples": "use tf.data.experimental.make_batched_features_dataset",
            "read_batch_features": "use tf.data.experimental.make_batched_features_dataset",
            "build_parsing_serving_input_fn": (
                "write tf.estimator.export.build_parsing_serving_input_receiver_fn"
            ),
            "utils": "write Estimator.export_saved_model and the exporters of tf.estimator",
            "monitors": "write the hooks of tf.train",
        },
        advice="write its successor in tf.estimator",
    ),
    "predictor": Module(
        advice='call tf.compat.v2.saved_model.load(folder).signatures["serving_default"]'
    ),
    "tpu": Module(
        homes=("tf.estimator.tpu", "tf.tpu"),
        names={
            "TPUDistributionStrategy": "write tf.distribute.experimental.TPUStrategy",
            "keras_to_tpu_model": "write tf.distribute.experimental.TPUStrategy",
        },
        advice="neither tf.estimator.tpu nor tf.tpu has such a name",
    ),
    "factorization": Module(
        names={
            "KMeans": "tf.estimator.experimental.KMeans",
            "KMeansClustering": "tf.estimator.experimental.KMeans",
            "GMM": "use sklearn.mixture.GaussianMixture",
            "WALSMatrixFactorization": "use the package implicit, or multiply two embeddings",
        },
    ),
    "linear_optimizer": Module(
        names={
            "SDCAOptimizer": "write tf.estimator.experimental.LinearSDCA",
            "SdcaModel": "write tf.estimator.experimental.LinearSDCA",
        },
    ),
    "boosted_trees": Module(advice=_TREES),
    "decision_trees": Module(advice=_TREES),
    "tensor_forest": Module(advice=_TREES),
    "timeseries": Module(advice=_TFP + "tfp.sts"),
    "kernel_methods": Module(advice="use tf.keras.layers.experimental.RandomFourierFeatures"),
    # --- input -----------------------------------------------------------------------------------
    "data": Module(
        homes=("tf.data.experimental", "tf.data"),
        names={
            "batch_and_drop_remainder": "write dataset.batch(size, drop_remainder=True)",
            "padded_batch_and_drop_remainder": (
                "write dataset.padded_batch(size, shapes, drop_remainder=True)"
            ),
            "assert_element_shape": "write dataset.map with tf.ensure_shape",
            "make_saveable_from_iterator": "tf.data.experimental.make_saveable_from_iterator",
            "read_batch_features": "write tf.data.experimental.make_batched_features_dataset",
            "reduce_dataset": "write dataset.reduce",
            "sliding_window_batch": "write dataset.window",
            "LMDBDataset": _IO + "tfio.IODataset.from_lmdb",
            "StatsAggregator": NOTHING,
            "latency_stats": NOTHING,
        },
        advice="tf.data.experimental has no such name",
    ),
    "lookup": Module(
        # tf.lookup publishes the tables but not the functions that read a vocabulary, which
        # TensorFlow's own feature columns use.
        homes=("tensorflow.python.ops.lookup_ops",),
        names={
            "HashTable": "tensorflow.python.ops.lookup_ops.HashTable",
            "MutableHashTable": "tensorflow.python.ops.lookup_ops.MutableHashTable",
            "string_to_index": "write tf.contrib.lookup.index_table_from_tensor",
            "string_to_index_table_from_file": "write tf.contrib.lookup.index_table_from_file",
        },
        advice="use tf.lookup",
    ),
    "feature_column": Module(
        homes=("tf.feature_column",),
        names={
            "sequence_input_layer": "write tf.keras.experimental.SequenceFeatures",
        },
        advice="tf.feature_column has no such name",
    ),
    "input_pipeline": Module(advice="use tf.data"),
    "staging": Module(
        # Nothing public stages tensors on a device outside tf.data.
        names={"StagingArea": "tensorflow.python.ops.data_flow_ops.StagingArea"},
        advice="use Dataset.prefetch",
    ),
    "proto": Module(
        names={"decode_proto": "tf.io.decode_proto", "encode_proto": "tf.io.encode_proto"}
    ),
    "text": Module(advice="use tf.keras.preprocessing.sequence.skipgrams"),
    "bigtable": Module(advice=_IO + "tfio.bigtable"),
    "cloud": Module(advice=_IO + "tfio.bigquery"),
    "ffmpeg": Module(advice=_IO + "tfio.audio"),
    "hadoop": Module(advice="read hdfs:// paths with tf.data after installing tensorflow-io"),
    "ignite": Module(advice=NOTHING),
    "igfs": Module(advice=NOTHING),
    "kafka": Module(advice=_IO + "tfio.IODataset.from_kafka"),
    "kinesis": Module(advice=_IO + "tfio.kinesis"),
    "libsvm": Module(advice=_IO + "tfio.experimental.IODataset"),
    # --- devices and clusters --------------------------------------------------------------------
    "distribute": Module(
        homes=("tf.distribute", "tf.distribute.experimental", "tf.distribute.cluster_resolver"),
        names={
            "MirroredStrategy": ".contrib_strategies.MirroredStrategy",
            "CollectiveAllReduceStrategy": ".contrib_strategies.CollectiveAllReduceStrategy",
            "ParameterServerStrategy": ".contrib_strategies.ParameterServerStrategy",
            "DistributionStrategy": "tf.distribute.Strategy",
            "TowerContext": "tf.distribute.ReplicaContext",
            "get_distribution_strategy": "tf.distribute.get_strategy",
            "get_tower_context": "tf.distribute.get_replica_context",
            "has_distribution_strategy": "tf.distribute.has_strategy",
            "in_cross_tower_context": "tf.distribute.in_cross_replica_context",
            "AllReduceCrossDeviceOps": "write tf.distribute.NcclAllReduce",
            "AllReduceCrossTowerOps": "write tf.distribute.NcclAllReduce",
            "MultiWorkerAllReduce": "write tf.distribute.HierarchicalCopyAllReduce",
            "ReductionToOneDeviceCrossDeviceOps": "tf.distribute.ReductionToOneDevice",
            "ReductionToOneDeviceCrossTowerOps": "tf.distribute.ReductionToOneDevice",
            "DistributeConfig": (
                "give tf.estimator.RunConfig train_distribute and eval_distribute instead"
            ),
            "run_standard_tensorflow_server": "write tf.train.Server",
        },
        advice="tf.distribute has no such name",
    ),
    "cluster_resolver": Module(
        homes=("tf.distribute.cluster_resolver",),
        names={
            "GceClusterResolver": "tf.distribute.cluster_resolver.GCEClusterResolver",
            "UnionClusterResolver": "tf.distribute.cluster_resolver.UnionResolver",
        },
        advice="tf.distribute.cluster_resolver has no such name",
    ),
    "all_reduce": Module(advice="use tf.distribute.MirroredStrategy"),
    "nccl": Module(advice="use tf.distribute.NcclAllReduce in a strategy"),
    "verbs": Module(advice="use tf.distribute.experimental.MultiWorkerMirroredStrategy with NCCL"),
    "mpi": Module(advice="install horovod, or use MultiWorkerMirroredStrategy"),
    "gdr": Module(advice="use tf.distribute.experimental.MultiWorkerMirroredStrategy with NCCL"),
    "mpi_collectives": Module(advice="install horovod, or use MultiWorkerMirroredStrategy"),
    "memory_stats": Module(advice="use tf.config.experimental.get_memory_info"),
    "rpc": Module(advice=NOTHING),
    # --- models ----------------------------------------------------------------------------------
    "rnn": Module(
        homes=("tf.nn.rnn_cell",),
        names={
            "static_bidirectional_rnn": "tf.nn.static_bidirectional_rnn",
            "static_rnn": "tf.nn.static_rnn",
            "static_state_saving_rnn": "tf.nn.static_state_saving_rnn",
            "core_rnn_cell": "tf.nn.rnn_cell",
            "rnn_cell": "tf.nn.rnn_cell",
            "LSTMBlockCell": "write tf.nn.rnn_cell.LSTMCell",
            "LSTMBlockFusedCell": "write tf.nn.rnn_cell.LSTMCell with tf.nn.dynamic_rnn",
            "LSTMBlockWrapper": "write tf.nn.rnn_cell.LSTMCell with tf.nn.dynamic_rnn",
            "CoupledInputForgetGateLSTMCell": "write tf.nn.rnn_cell.LSTMCell",
            "LayerNormBasicLSTMCell": "write tf.nn.rnn_cell.LSTMCell",
            "GRUBlockCell": "write tf.nn.rnn_cell.GRUCell",
            "GRUBlockCellV2": "write tf.nn.rnn_cell.GRUCell",
            "AttentionCellWrapper": "use tf.keras.layers.Attention on the outputs",
            "FusedRNNCellAdaptor": "write tf.nn.dynamic_rnn with the cell itself",
            "TimeReversedFusedRNN": "write tf.reverse_sequence around tf.nn.dynamic_rnn",
            "TimeFreqLSTMCell": "write tf.nn.rnn_cell.LSTMCell",
            "stack_bidirectional_dynamic_rnn": (
                "call tf.nn.bidirectional_dynamic_rnn once for each layer"
            ),
            "stack_bidirectional_rnn": "call tf.nn.bidirectional_dynamic_rnn once for each layer",
            "transpose_batch_time": "write tf.transpose(x, [1, 0, 2])",
        },
        advice="tf.nn.rnn_cell has no such cell; derive it from tf.nn.rnn_cell.RNNCell",
    ),
    "cudnn_rnn": Module(
        names={
            "CudnnGRU": "use tf.keras.layers.CuDNNGRU",
            "CudnnLSTM": "use tf.keras.layers.CuDNNLSTM",
            "CudnnCompatibleGRUCell": "write tf.nn.rnn_cell.GRUCell",
            "CudnnCompatibleLSTMCell": "write tf.nn.rnn_cell.LSTMCell",
        },
        advice="use tf.keras.layers.CuDNNLSTM or CuDNNGRU",
    ),
    "seq2seq": Module(
        names={
            "AttentionWrapper": "use tf.keras.layers.Attention on the encoder's outputs",
            "BahdanauAttention": "use tf.keras.layers.AdditiveAttention",
            "LuongAttention": "use tf.keras.layers.Attention",
            "sequence_loss": (
                "use tf.losses.sparse_softmax_cross_entropy with tf.sequence_mask as weights"
            ),
            "dynamic_decode": "write a tf.while_loop, or tf.nn.raw_rnn, over the cell",
        },
        advice=_OWN_COPY.format(
            "tensorflow_addons/seq2seq", ", or use tf.keras.layers.Attention and tf.nn.raw_rnn"
        ),
    ),
    "legacy_seq2seq": Module(
        names={
            "sequence_loss": (
                "use tf.losses.sparse_softmax_cross_entropy with tf.sequence_mask as weights"
            ),
        },
        advice="write the encoder and the decoder with tf.nn.dynamic_rnn and tf.nn.raw_rnn",
    ),
    "crf": Module(advice=_OWN_COPY.format("tensorflow_addons/text/crf.py", "")),
    "opt": Module(
        names={
            "AdamWOptimizer": (
                "use tf.train.AdamOptimizer and subtract rate * decay * variable after its update"
            ),
            "MomentumWOptimizer": (
                "use tf.train.MomentumOptimizer and subtract rate * decay * variable after it"
            ),
            "AdaMaxOptimizer": "use tf.keras.optimizers.Adamax",
            "NadamOptimizer": "use tf.keras.optimizers.Nadam",
            "LazyAdamOptimizer": "use tf.train.AdamOptimizer",
            "LazyAdamGSOptimizer": "use tf.train.AdamOptimizer",
            "AdamGSOptimizer": "use tf.train.AdamOptimizer",
            "MovingAverageOptimizer": "use tf.train.ExponentialMovingAverage",
            "ScipyOptimizerInterface": (
                "call scipy.optimize.minimize with a function that runs the session"
            ),
            "ExternalOptimizerInterface": (
                "call scipy.optimize.minimize with a function that runs the session"
            ),
            "VariableClippingOptimizer": "give tf.get_variable a constraint",
            "ElasticAverageOptimizer": "use tf.distribute.experimental.ParameterServerStrategy",
            "ModelAverageOptimizer": "use tf.distribute.experimental.MultiWorkerMirroredStrategy",
            "DropStaleGradientOptimizer": "use tf.train.SyncReplicasOptimizer",
            "clip_gradients_by_global_norm": "call tf.clip_by_global_norm",
        },
        advice=_OWN_COPY.format(
            "the file from tensorflow_addons/optimizers", ", or use an optimizer of tf.train"
        ),
    ),
    "optimizer_v2": Module(
        names={
            name: f"tf.train.{name}"
            for name in (
                "AdadeltaOptimizer",
                "AdagradOptimizer",
                "AdamOptimizer",
                "GradientDescentOptimizer",
                "MomentumOptimizer",
                "RMSPropOptimizer",
            )
        },
        advice="use the optimizers of tf.train",
    ),
    "gan": Module(advice="install tensorflow-gan and use tensorflow_gan"),
    "grid_rnn": Module(advice=NOTHING),
    "ndlstm": Module(advice=NOTHING),
    "recurrent": Module(advice="use tf.nn.dynamic_rnn"),
    "nn": Module(homes=("tf.nn",), advice="tf.nn has no such name"),
    "distributions": Module(
        homes=("tf.distributions",),
        names={"bijectors": _TFP + "tfp.bijectors"},
        advice=_TFP + "tfp.distributions",
    ),
    "bayesflow": Module(advice=_TFP + "tfp.mcmc and tfp.vi"),
    "constrained_optimization": Module(
        advice="install tensorflow-constrained-optimization and use its tfco"
    ),
    "model_pruning": Module(advice="install tensorflow-model-optimization"),
    "quantize": Module(advice="install tensorflow-model-optimization"),
    "quantization": Module(homes=("tf.quantization",), advice="use tf.quantization"),
    "mixed_precision": Module(
        homes=("tf.train.experimental",),
        names={"LossScaleOptimizer": "tf.train.experimental.MixedPrecisionLossScaleOptimizer"},
        advice="use tf.train.experimental.enable_mixed_precision_graph_rewrite",
    ),
    "receptive_field": Module(advice=NOTHING),
    "sparsemax": Module(advice=_OWN_COPY.format("tensorflow_addons/activations/sparsemax.py", "")),
    "image": Module(
        names={
            "dense_image_warp": _OWN_COPY.format("tensorflow_addons/image/dense_image_warp.py", ""),
            "rotate": "use tf.raw_ops.ImageProjectiveTransformV3",
            "transform": "use tf.raw_ops.ImageProjectiveTransformV3",
            "translate": "use tf.raw_ops.ImageProjectiveTransformV3",
        },
        advice="use tf.image, or " + _OWN_COPY.format("the file from tensorflow_addons/image", ""),
    ),
    "resampler": Module(
        advice=_OWN_COPY.format(
            "interpolate_bilinear from tensorflow_addons/image/dense_image_warp.py", ""
        )
    ),
    # --- mathematics -----------------------------------------------------------------------------
    "integrate": Module(advice=_TFP + "tfp.math.ode"),
    "linalg": Module(homes=("tf.linalg",), advice="use tf.linalg"),
    "solvers": Module(advice="use tf.linalg.experimental.conjugate_gradient"),
    "signal": Module(homes=("tf.signal",), advice="use tf.signal"),
    "stateless": Module(
        names={
            "stateless_multinomial": "tf.random.stateless_multinomial",
            "stateless_random_normal": "tf.random.stateless_normal",
            "stateless_random_uniform": "tf.random.stateless_uniform",
            "stateless_truncated_normal": "tf.random.stateless_truncated_normal",
        },
        advice="use tf.random.stateless_uniform and its like",
    ),
    "labeled_tensor": Module(advice="use xarray before the graph"),
    "nearest_neighbor": Module(advice="use the package scann or faiss"),
    "periodic_resample": Module(advice="use tf.nn.depth_to_space"),
    "coder": Module(advice="install tensorflow-compression"),
    # --- graphs, programs, summaries -------------------------------------------------------------
    "summary": Module(
        # tf.compat.v1.summary and tf.compat.v2.summary are other interfaces; TensorFlow keeps this
        # one, without publishing it, for its own use.
        homes=("tensorflow.python.ops.summary_ops_v2",),
        names={
            "all_summary_ops": "tf.summary.all_v2_summary_ops",
            "create_db_writer": "write tf.contrib.summary.create_file_writer",
        },
        advice="use tf.summary",
    ),
    "autograph": Module(homes=("tf.autograph",), advice="use tf.autograph"),
    "checkpoint": Module(
        names={
            "Checkpoint": "tf.train.Checkpoint",
            "CheckpointManager": "tf.train.CheckpointManager",
            "list_objects": "use tf.train.Checkpoint",
        },
        advice="use tf.train.Checkpoint",
    ),
    "compiler": Module(
        names={
            "jit": "use tf.xla.experimental.jit_scope",
            "xla": "use tf.xla.experimental.compile",
        },
        advice="use tf.xla.experimental",
    ),
    "copy_graph": Module(advice="use tf.import_graph_def"),
    "graph_editor": Module(advice="use tf.import_graph_def with input_map"),
    "deprecated": Module(
        names={
            "audio_summary": "tf.summary.audio",
            "histogram_summary": "tf.summary.histogram",
            "image_summary": "tf.summary.image",
            "scalar_summary": "tf.summary.scalar",
            "merge_all_summaries": "tf.summary.merge_all",
            "merge_summary": "tf.summary.merge",
        },
        advice="use tf.summary",
    ),
    "eager": Module(
        names={
            "Checkpoint": "tf.train.Checkpoint",
            "Variable": "write tf.Variable(…, use_resource=True)",
            "defun": "tf.function",
            "function": "tf.function",
            "in_eager_mode": "tf.executing_eagerly",
            "executing_eagerly": "tf.executing_eagerly",
            "py_func": "tf.py_function",
            "num_gpus": "write len(tf.config.list_physical_devices('GPU'))",
            "gradients_function": "use tf.GradientTape",
            "implicit_gradients": "use tf.GradientTape",
            "metrics": "use tf.keras.metrics",
        },
        advice="use eager TensorFlow itself",
    ),
    "keras": Module(homes=("tf.keras",), advice="use tf.keras"),
    "lite": Module(homes=("tf.lite",), advice="use tf.lite"),
    "saved_model": Module(
        names={
            "load_keras_model": "use tf.keras.models.load_model",
            "save_keras_model": "use tf.keras.models.save_model",
        },
        advice="use tf.saved_model",
    ),
    "session_bundle": Module(advice="use tf.saved_model"),
    "tensorboard": Module(
        names={"plugins": "import tensorboard.plugins.projector of the package tensorboard"},
        advice="install tensorboard",
    ),
    "tensorrt": Module(
        advice="use TrtGraphConverterV2 of tensorflow.python.compiler.tensorrt.trt_convert"
    ),
    "testing": Module(advice="use tf.test"),
    "tfprof": Module(homes=("tf.profiler",), advice="use tf.profiler"),
    "util": Module(
        names={
            "constant_value": "tf.get_static_value",
            "make_ndarray": "tf.make_ndarray",
            "make_tensor_proto": "tf.make_tensor_proto",
            "loader": "call tf.load_op_library",
        },
        advice="use tf.make_tensor_proto and its like",
    ),
    "batching": Module(names={"batch_function": "tf.nondifferentiable_batch_function"}),
}
