"""What breaks in programs that use Estimators, since which version, and the cure: one table.

A rule's `names` is a dotted path; `{a,b}` stands for each of a and b, and a trailing `.*` for the
name and all that is under it. `tf` is `tensorflow`, `?.x` the method x of any object and
`builtins.x` a builtin. The most specific rule for a name counts. A version is the first one that
breaks ("2.16"), or the first and the last ("2.16-2.18"); without one, every supported version
breaks. Names of TF1 are in tf1_names.txt, private modules in gone_modules.txt, and the
parts of tf.contrib in estimators/compat/contrib_table.py.
"""

import ast
import dataclasses
import enum
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from .lint_names import BUILTIN, DIMENSION_VALUE, METHOD, Use

_GONE_MODULES = os.path.join(os.path.dirname(__file__), "gone_modules.txt")


class Verdict(enum.Enum):
    """What a user has to do, from the least to the most."""

    BRIDGED = "bridged"
    CHECK = "to be checked"
    TF1 = "needs genever run --tf1"
    CHANGE = "must be changed"

    @property
    def weight(self) -> int:
        return list(Verdict).index(self)


BRIDGED, CHECK, TF1, CHANGE = Verdict


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a rule may ask about the file and the project around a use.

    Attributes:
      file: the names that the file uses, each with the first line where it does.
      project: the names that all files of the project use.
      words: the keywords that the file's calls use, and its string constants.
    """

    file: Mapping[str, int]
    project: Set[str]
    words: Set[str]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A row of the table.

    Attributes:
      names: the pattern.
      verdict: what a user has to do.
      cure: what Genever does about it, or what to write instead.
      tensorflow: the versions of TensorFlow that break; also python, numpy and protobuf.
      when: whether the rule holds for a use; always if not given.
      once: one finding for a file is enough, under the pattern's own name.
    """

    names: str
    verdict: Verdict
    cure: str
    tensorflow: str = ""
    python: str = ""
    numpy: str = ""
    protobuf: str = ""
    when: Callable[[Use, Facts], bool] | None = None
    once: bool = False

    def _versions(self) -> tuple[tuple[str, str], ...]:
        return (
            ("TensorFlow", self.tensorflow),
            ("Python", self.python),
            ("NumPy", self.numpy),
            ("protobuf", self.protobuf),
        )

    def breaks(self) -> str:
        """The versions in words, as in "from TensorFlow 2.16 on"."""
        parts = []
        for package, versions in self._versions():
            first, _, last = versions.partition("-")
            if versions and first == last:
                parts.append(f"on {package} {first}")
            elif last:
                parts.append(f"on {package} {first} to {last}")
            elif versions:
                parts.append(f"from {package} {first} on")
        return " and ".join(parts) or "on every supported version"

    def reaches(self, target: "Target") -> bool:
        """Whether any of the versions is one of the target's."""
        return all(
            target.may_have(package, *versions.partition("-")[::2])
            for package, versions in self._versions()
            if versions
        )


# The versions of NumPy and protobuf that can be installed beside TensorFlow and Python.
_NEVER = (99,)
_NUMPY_OF_TENSORFLOW = {
    (2, 15): ((1, 23), (1, 99)),
    (2, 16): ((1, 23), (1, 99)),
    (2, 17): ((1, 23), (1, 99)),
    (2, 18): ((1, 26), (2, 0)),
    (2, 19): ((1, 26), (2, 1)),
}
_NUMPY_OF_PYTHON = {(3, 12): ((1, 26), _NEVER), (3, 13): ((2, 1), _NEVER)}
_PROTOBUF_OF_TENSORFLOW = {
    (2, 15): ((3,), (4, 99)),
    (2, 16): ((3,), (4, 99)),
    (2, 17): ((3,), (4, 99)),
    (2, 18): ((3,), (5, 99)),
    (2, 19): ((3,), (5, 99)),
}
_ANY = ((0,), _NEVER)


@dataclasses.dataclass(frozen=True)
class Target:
    """The versions that a program shall run on; all supported ones where none is given."""

    tensorflow: tuple[int, int] | None = None
    python: tuple[int, int] | None = None

    def may_have(self, package: str, first: str, last: str) -> bool:
        """Whether a version of `package` from `first` to `last` ("" for no end) can be there."""
        ranges = {
            "TensorFlow": [(self.tensorflow,) * 2 if self.tensorflow else _ANY],
            "Python": [(self.python,) * 2 if self.python else _ANY],
            "NumPy": [
                _NUMPY_OF_TENSORFLOW.get(self.tensorflow, _ANY),
                _NUMPY_OF_PYTHON.get(self.python, _ANY),
            ],
            "protobuf": [_PROTOBUF_OF_TENSORFLOW.get(self.tensorflow, _ANY)],
        }[package]
        low = version(first)
        high = version(last) if last else _NEVER
        return all(low <= upper and lower <= high for lower, upper in ranges)


def version(text: str) -> tuple[int, ...]:
    """The numbers of a version such as "2.16"."""
    return tuple(map(int, text.split(".")))


_ESTIMATORS = ("tf.estimator", "tf.compat.v1.estimator", "tensorflow_estimator")


def _is_estimator(names: Iterable[str]) -> bool:
    return any(name.startswith(_ESTIMATORS) for name in names)


def _beside_estimators(use: Use, facts: Facts) -> bool:
    """Holds in a project that uses Estimators."""
    return _is_estimator(facts.project)


def _tf2_data(use: Use, facts: Facts) -> bool:
    """Holds in a file whose data sets are those of TF2."""
    own = [name for name in facts.file if ".data." in name and name.startswith("tf.")]
    if own:
        return not any(name.startswith("tf.compat.v1.") for name in own)
    return "tf" in facts.file


def _tf2_shapes(use: Use, facts: Facts) -> bool:
    """Holds in a file with TF2's `tf` if the project does not ask for the shapes of TF1."""
    return "tf" in facts.file and not any(
        name.startswith("tf.compat.v1.disable_v2") for name in facts.project
    )


def _on_tpu(use: Use, facts: Facts) -> bool:
    """Holds for a TPUEstimator that surely asks for a TPU, which is what it does by itself."""
    given = use.keywords.get("use_tpu")
    return use.called and (
        (given is None and use.positional < 5)
        or (isinstance(given, ast.Constant) and given.value is True)
    )


def _logical_cpus(use: Use, facts: Facts) -> bool:
    """Holds where MirroredStrategy may get CPUs that a session does not have by itself."""
    return (
        _is_estimator(facts.project)
        and "device_count" not in facts.words
        and any(
            "logical_device_configuration" in name or "virtual_device_configuration" in name
            for name in facts.project
        )
    )


def _keyword(name: str) -> Callable[[Use, Facts], bool]:
    return lambda use, facts: name in use.keywords


def _mirrored_evaluation(use: Use, facts: Facts) -> bool:
    given = use.keywords.get("eval_distribute")
    return given is not None and not (isinstance(given, ast.Constant) and given.value is None)


_V1_SERVERS = (
    "an Estimator crashes with it: write "
    "tf.compat.v1.distribute.experimental.ParameterServerStrategy()"
)
_KERAS_2 = "Genever brings Keras 2 (tf_keras)"
_TPU = "TensorFlow 2.15 was the last with Estimators on TPUs: stay there, or pass use_tpu=False"
_TREES = (
    "boosted trees left with tensorflow-estimator 2.15: train them with "
    "tensorflow_decision_forests or another library"
)

RULES = (
    # tf.estimator itself.
    Rule("tf{,.compat.v1}.estimator.*", BRIDGED, "tf.estimator is there again", "2.16"),
    Rule("tensorflow_estimator.*", BRIDGED, "it can be imported again", "2.16"),
    Rule("tensorflow.python.estimator.*", BRIDGED, "leads to tensorflow_estimator", "2.16"),
    Rule(
        "tensorflow.python.distribute.estimator_training",
        BRIDGED,
        "Genever has its own",
        "2.16",
    ),
    Rule(
        "tf{,.compat.v1}.estimator.{DNN,Linear,DNNLinearCombined}{Classifier,Regressor,Estimator}",
        BRIDGED,
        f"tf.estimator is there again, and {_KERAS_2}",
        "2.16",
    ),
    Rule(
        "tf{,.compat.v1}.estimator.train_and_evaluate",
        BRIDGED,
        "under `genever run` it is Genever's on one machine, which always evaluates and exports "
        "the last checkpoint; in a cluster it is tf.estimator's own",
        "2.16",
    ),
    Rule("tf{,.compat.v1}.estimator.BoostedTrees{Classifier,Regressor,Estimator}", CHANGE, _TREES),
    Rule(
        "tf{,.compat.v1}.estimator.experimental.{boosted_trees_classifier_train_in_memory,"
        "boosted_trees_regressor_train_in_memory}",
        CHANGE,
        _TREES,
    ),
    Rule(
        "tf{,.compat.v1}.estimator.RunConfig",
        CHECK,
        "with eval_distribute the last round is counted or lost at random unless the number of "
        "batches is a multiple of the replicas: pad with weight 0, or leave eval_distribute out",
        when=_mirrored_evaluation,
    ),
    Rule(
        "tf.compat.v1.estimator.tpu.TPUEstimator",
        CHANGE,
        _TPU,
        "2.16",
        when=_on_tpu,
    ),
    Rule(
        "tf.compat.v1.estimator.tpu.TPUEstimator",
        BRIDGED,
        "works with use_tpu=False; a TPU needs TensorFlow 2.15",
        "2.16",
    ),
    Rule(
        "tf.compat.v1.estimator.tpu.experimental.EmbeddingConfigSpec",
        CHANGE,
        "TPU embeddings of Estimators need TensorFlow 2.15",
        "2.16",
    ),
    Rule(
        "tf.compat.v1.tpu.experimental.{Adagrad,Adam,Ftrl,StochasticGradientDescent}Parameters",
        CHANGE,
        "TPU embeddings of Estimators need TensorFlow 2.15",
        "2.16",
    ),
    Rule(
        "tensorflow.python.tpu.{tpu_embedding,session_support,tpu_embedding_gradient}.*",
        CHANGE,
        "it can be imported, but raises when it is used: TPUs need TensorFlow 2.15",
        "2.16",
    ),
    # Strategies.
    Rule(
        "tf.distribute.{,experimental.}ParameterServerStrategy",
        CHANGE,
        _V1_SERVERS,
        when=lambda use, facts: use.called and _is_estimator(facts.file),
    ),
    Rule(
        "tf.distribute.{,experimental.}ParameterServerStrategy",
        CHECK,
        _V1_SERVERS,
        when=lambda use, facts: use.called and _is_estimator(facts.project),
    ),
    Rule(
        "tf{,.compat.v1}.distribute.MirroredStrategy",
        CHECK,
        "on logical CPUs an Estimator hangs with it unless RunConfig has session_config="
        "tf.compat.v1.ConfigProto(device_count={'CPU': N}, allow_soft_placement=True)",
        when=_logical_cpus,
    ),
    # Keras.
    Rule(
        "tf.keras.*",
        BRIDGED,
        f"tf.keras is Keras 3 there; {_KERAS_2}",
        "2.16",
        once=True,
    ),
    Rule("tf.compat.v1.keras.*", BRIDGED, f"{_KERAS_2}", "2.16", once=True),
    Rule("tf.compat.v1.layers.*", BRIDGED, _KERAS_2, "2.16"),
    Rule("tf.compat.v1.nn.rnn_cell.*", BRIDGED, _KERAS_2, "2.16"),
    Rule("tf{,.compat.v1}.keras.layers.DenseFeatures", BRIDGED, _KERAS_2, "2.16"),
    Rule("tf.keras.experimental.{LinearModel,WideDeepModel}", BRIDGED, _KERAS_2, "2.16"),
    Rule(
        "tf{,.compat.v1}.keras.estimator.model_to_estimator",
        BRIDGED,
        f"it is there again, and {_KERAS_2}",
        "2.16",
    ),
    Rule("tf.keras.optimizers.legacy.*", BRIDGED, _KERAS_2, "2.16"),
    Rule(
        "tf.keras.utils.set_random_seed",
        CHANGE,
        "tf_keras of these versions fails after it: write RunConfig(tf_random_seed=...), or take "
        "TensorFlow 2.19 or later",
        "2.16-2.18",
        python="3.12",
    ),
    Rule(
        "keras.*",
        CHECK,
        "this is Keras 3, which Estimators cannot use: import tf.keras for what an Estimator gets",
        "2.16",
        when=_beside_estimators,
        once=True,
    ),
    Rule(
        "tensorflow.python.keras.*",
        CHECK,
        "a private copy of an old Keras, which does not mix with tf.keras: write tf.keras",
        once=True,
    ),
    # gin.
    Rule(
        "gin.tf.*",
        CHANGE,
        "write `import genever` before the first import of gin.tf",
        "2.16",
        when=lambda use, facts: facts.file.get("genever", 0) > use.line,
    ),
    Rule(
        "gin.tf.*",
        BRIDGED,
        "gin.tf can be imported again, after `import genever` or under `genever run`",
        "2.16",
    ),
    # Other parts of TensorFlow.
    Rule(
        "tf{.io,.compat.v1.io,.compat.v1.train}.write_graph",
        BRIDGED,
        "it no longer passes the argument that protobuf dropped",
        "2.20-2.20",
        protobuf="7",
    ),
    Rule(
        "tf{,.compat.v1}.data.experimental.CheckpointInputPipelineHook",
        CHANGE,
        "save tf.data.experimental.make_saveable_from_iterator(iterator) with the model, in the "
        "collection SAVEABLE_OBJECTS",
        "2.16",
    ),
    Rule(
        "tf{,.compat.v1}.data.experimental.{StatsAggregator,StatsOptions,bytes_produced_stats,"
        "latency_stats,MapVectorizationOptions}",
        CHANGE,
        "TensorFlow has no tf.data statistics any more: remove it, and use the TensorFlow profiler",
    ),
    Rule(
        "tf{,.compat.v1}.config.experimental_list_devices",
        CHANGE,
        "write tf.config.list_logical_devices()",
    ),
    Rule(
        "tf{,.compat.v1}.lite.experimental.{nn,get_potentially_supported_ops}.*",
        CHANGE,
        "TensorFlow has it no more: convert with tf.lite.TFLiteConverter",
    ),
    Rule("tf.examples.*", CHANGE, "write tf.keras.datasets, or tensorflow_datasets"),
    Rule("tf.python.*", CHANGE, "write the public name, or `import tensorflow.python....`"),
    Rule("tensorflow_core.*", CHANGE, "write tensorflow"),
    Rule("tensorboard.*", CHANGE, "TensorFlow no longer installs it: require tensorboard", "2.21"),
    # Before TensorFlow 1.0.
    Rule("tf.{mul,sub,neg}", CHANGE, "write tf.multiply, tf.subtract, tf.negative"),
    Rule("tf.{pack,unpack}", CHANGE, "write tf.stack, tf.unstack"),
    Rule("tf.{select,concat_v2,split_v}", CHANGE, "write tf.where, tf.concat, tf.split"),
    Rule(
        "tf.{batch_matmul,complex_abs,inv}", CHANGE, "write tf.matmul, tf.abs, tf.math.reciprocal"
    ),
    Rule("tf.listdiff", CHANGE, "write tf.compat.v1.setdiff1d"),
    Rule(
        "tf.{scalar,histogram,image,audio}_summary",
        CHANGE,
        "write tf.compat.v1.summary.scalar, histogram, image or audio",
    ),
    Rule("tf.{merge_summary,merge_all_summaries}", CHANGE, "write tf.compat.v1.summary.merge_all"),
    Rule("tf.train.SummaryWriter", CHANGE, "write tf.compat.v1.summary.FileWriter"),
    Rule("tf.nn.{rnn,bidirectional_rnn}", CHANGE, "write tf.compat.v1.nn.static_rnn"),
    Rule("tf.nn.seq2seq.*", CHANGE, "write tensorflow_addons.seq2seq, or tf.keras.layers.RNN"),
    Rule("tf.image.per_image_whitening", CHANGE, "write tf.image.per_image_standardization"),
    # What objects of TF1 have and those of TF2 have not.
    Rule(
        "?.{make_one_shot_iterator,make_initializable_iterator}",
        TF1,
        "a TF1 data set has it; or write tf.compat.v1.data.make_one_shot_iterator(dataset)",
        when=_tf2_data,
    ),
    Rule(DIMENSION_VALUE, TF1, "the TF1 shape has it; or leave `.value` out", when=_tf2_shapes),
    # protobuf.
    Rule(
        "google.protobuf.json_format.{MessageToDict,MessageToJson}",
        CHANGE,
        "write always_print_fields_with_no_presence for including_default_value_fields",
        protobuf="5.26",
        when=_keyword("including_default_value_fields"),
    ),
    Rule(
        "google.protobuf.text_format.{MessageToString,PrintMessage}",
        CHANGE,
        "leave float_format out",
        protobuf="7",
        when=_keyword("float_format"),
    ),
    Rule(
        "google.protobuf.descriptor.{FieldDescriptor,EnumDescriptor,Descriptor}",
        CHANGE,
        "generated by an old protoc: generate the file again with protoc 3.19 or later",
        protobuf="4",
        when=lambda use, facts: use.called and "serialized_start" in facts.words,
        once=True,
    ),
    # NumPy.
    Rule("numpy.bool", CHANGE, "write bool, or np.bool_", numpy="1.24-1.26"),
    Rule("numpy.{int,float,complex,object,str}", CHANGE, "write the builtin", numpy="1.24"),
    Rule("numpy.unicode", CHANGE, "write str", numpy="1.24"),
    Rule("numpy.long", CHANGE, "write int, or np.int64", numpy="1.24-1.26"),
    Rule("numpy.{asscalar,rank,alen,typeDict,loads}", CHANGE, "see the notes of NumPy 1.23"),
    Rule("numpy.{float_,complex_}", CHANGE, "write np.float64, np.complex128", numpy="2.0"),
    Rule("numpy.{unicode_,string_}", CHANGE, "write np.str_, np.bytes_", numpy="2.0"),
    Rule(
        "numpy.{bool8,int0,uint0,object0,str0}", CHANGE, "write np.bool_, np.intp, ...", numpy="2.0"
    ),
    Rule("numpy.{Inf,Infinity,infty,PINF}", CHANGE, "write np.inf", numpy="2.0"),
    Rule("numpy.NINF", CHANGE, "write -np.inf", numpy="2.0"),
    Rule("numpy.{NaN,NAN}", CHANGE, "write np.nan", numpy="2.0"),
    Rule("numpy.{product,cumproduct}", CHANGE, "write np.prod, np.cumprod", numpy="2.0"),
    Rule("numpy.{sometrue,alltrue}", CHANGE, "write np.any, np.all", numpy="2.0"),
    Rule("numpy.{round_,asfarray,mat,msort}", CHANGE, "see the notes of NumPy 2.0", numpy="2.0"),
    Rule("numpy.{find_common_type,cast,sctypes}", CHANGE, "write np.result_type, ...", numpy="2.0"),
    Rule("numpy.{in1d,trapz}", CHANGE, "write np.isin, np.trapezoid", numpy="2.4"),
    # Python 3.
    Rule("inspect.getargspec", CHANGE, "write inspect.getfullargspec", python="3.11"),
    Rule("inspect.formatargspec", CHANGE, "write inspect.signature", python="3.11"),
    Rule("asyncio.coroutine", CHANGE, "write async def", python="3.11"),
    Rule("imp.*", CHANGE, "write importlib", python="3.12"),
    Rule("distutils.*", CHANGE, "write packaging.version, shutil or setuptools", python="3.12"),
    Rule("{asyncore,asynchat,smtpd}.*", CHANGE, "write asyncio", python="3.12"),
    Rule("configparser.SafeConfigParser", CHANGE, "write configparser.ConfigParser", python="3.12"),
    Rule("unittest.makeSuite", CHANGE, "write unittest.TestLoader", python="3.13"),
    Rule(
        "?.{assertEquals,assertNotEquals,assertAlmostEquals}",
        CHANGE,
        "write it without the last s",
        python="3.12",
    ),
    Rule("{cgi,crypt,pipes,imghdr,sndhdr,telnetlib,uu}.*", CHANGE, "see PEP 594", python="3.13"),
    Rule(
        "collections.{Mapping,MutableMapping,Sequence,MutableSequence,Iterable,Iterator,Callable,"
        "Hashable,Sized,Container,Generator,Set,MutableSet,KeysView,ValuesView,ItemsView}",
        CHANGE,
        "write collections.abc",
        python="3.10",
    ),
    Rule("time.clock", CHANGE, "write time.perf_counter"),
    Rule("fractions.gcd", CHANGE, "write math.gcd"),
    Rule(
        "string.{letters,lowercase,uppercase,maketrans}", CHANGE, "write string.ascii_letters, ..."
    ),
    Rule(
        "itertools.{izip,imap,ifilter,izip_longest}", CHANGE, "write zip, map, filter, zip_longest"
    ),
    Rule("os.getcwdu", CHANGE, "write os.getcwd"),
    Rule("sys.maxint", CHANGE, "write sys.maxsize"),
    Rule(
        "urllib.{urlopen,urlretrieve,urlencode,quote,unquote}",
        CHANGE,
        "write urllib.request, parse",
    ),
    # Python 2.
    Rule("{cPickle,ConfigParser,Queue}.*", CHANGE, "Python 2: write it in lower case, without c"),
    Rule("{StringIO,cStringIO}.*", CHANGE, "Python 2: write io"),
    Rule(
        "{urllib2,urlparse,httplib}.*", CHANGE, "Python 2: write urllib.request, parse, http.client"
    ),
    Rule(
        "{__builtin__,thread,commands}.*", CHANGE, "Python 2: write builtins, _thread, subprocess"
    ),
    Rule("builtins.{xrange,raw_input}", CHANGE, "Python 2: write range, input"),
    Rule("builtins.{unicode,basestring,unichr}", CHANGE, "Python 2: write str, chr"),
    Rule(
        "builtins.{long,reduce,reload,execfile,cmp}",
        CHANGE,
        "Python 2: Python 3 has no such builtin",
    ),
    Rule("?.{iteritems,itervalues,iterkeys}", CHANGE, "Python 2: write items(), values(), keys()"),
    Rule("?.has_key", CHANGE, "Python 2: write `key in mapping`"),
)


def _expand(pattern: str) -> Iterator[str]:
    pieces = re.split(r"\{([^}]*)\}", pattern)
    choices = [[p] if i % 2 == 0 else p.split(",") for i, p in enumerate(pieces)]
    return map("".join, itertools.product(*choices))


def _gone_modules() -> Iterator[Rule]:
    with open(_GONE_MODULES, encoding="utf-8") as file:
        rows = [line.split(maxsplit=2) for line in file if not line.startswith("#")]
    for name, since, *instead in rows:
        cure = f"write {instead[0].strip()}" if instead else "write a public name of tf instead"
        yield Rule(
            f"tensorflow.python.{name}.*",
            CHANGE,
            f"TensorFlow removed this private module: {cure}",
            "" if since == "-" else since,
        )


class Table:
    """The rules, found by name."""

    def __init__(self):
        self._exact: dict[str, list[Rule]] = {}
        self._under: dict[str, list[Rule]] = {}
        for rule in (*_gone_modules(), *RULES):
            for name in _expand(rule.names):
                under = name.endswith(".*")
                index = self._under if under else self._exact
                index.setdefault(name.removesuffix(".*"), []).append(rule)
        names = (*self._exact, *self._under)
        self.loose = frozenset(n for n in names if n.startswith((METHOD, BUILTIN)))
        self.names = frozenset(names)

    def about(self, name: str) -> Iterator[Rule]:
        """The rules for a name, the most specific ones first."""
        yield from self._exact.get(name, ())
        while name:
            yield from self._under.get(name, ())
            name = name.rpartition(".")[0]
            # What a class has, such as Estimator.train, is no matter of its own.
            yield from self._exact.get(name, ())
