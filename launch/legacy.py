"""Runs a Python program unchanged, as `python` would, with the bridge below it.

The program's child processes get the same, whoever starts them: an environment variable says what
to do, and a `sitecustomize` module on PYTHONPATH does it before a child's first line.
"""

import builtins
import dataclasses
import importlib.machinery
import importlib.util
import json
import os
import pkgutil
import sys
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_VARIABLE = "GENEVER_RUN"
_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child_processes")
# Its frame stands between any two modules of a TF1 program.
_IMPORT = f"{__package__.rpartition('.')[0]}.estimators.compat.tf1"
_GENEVER = os.path.dirname(os.path.dirname(_HOOK)) + os.sep


class NoProgramError(ValueError):
    """There is no such script or module, or it cannot be run."""


@dataclasses.dataclass(frozen=True)
class World:
    """What a program finds beside its own code.

    Attributes:
      tf1: whether `import tensorflow` in the program means TensorFlow 1.
      driver: whether `tf.estimator.train_and_evaluate` is Genever's.
      tf1_packages: installed packages that are TF1 code as the program is.
    """

    tf1: bool = False
    driver: bool = True
    tf1_packages: tuple[str, ...] = ()

    def enter(self) -> None:
        """Makes it so in this process; to be called before the program is imported."""
        from ..estimators import compat

        compat.install()
        if self.tf1:
            from ..estimators.compat import tf1

            tf1.enter(self.tf1_packages)
        if self.driver:
            from ..estimators.compat.train_and_evaluate import replace_train_and_evaluate

            replace_train_and_evaluate(_train_and_evaluate, _say_cluster)

    def bequeath(self) -> None:
        """Makes it so in every Python process that this one starts from now on."""
        # Another Python, as of another virtual environment, has no Genever.
        os.environ[_VARIABLE] = json.dumps({"prefix": sys.prefix, **dataclasses.asdict(self)})
        path = os.environ.get("PYTHONPATH")
        if _HOOK not in (path or "").split(os.pathsep):
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_HOOK, path)))


def enter_inherited() -> None:
    """Enters the world that a parent process has bequeathed."""
    inherited = json.loads(os.environ[_VARIABLE])
    World(inherited["tf1"], inherited["driver"], tuple(inherited["tf1_packages"])).enter()


def run_script(path: str, arguments: Sequence[str], world: World) -> None:
    """Runs a script, or a folder or zip file with a `__main__`, as `python path …` does.

    What the program raises comes out of here, SystemExit too; the interpreter then ends as it would
    have ended, and prints a trace that begins with the program's own first frame.

    Args:
      path: the script.
      arguments: what follows the program in sys.argv.
      world: what the program finds.

    Raises:
      NoProgramError: there is nothing to run.
    """
    # As python names it in tracebacks: with "./" and "..".
    absolute = os.path.join(os.getcwd(), path)
    if pkgutil.get_importer(absolute) is not None:
        find, folder = _find_in_folder, absolute
    elif os.path.isfile(absolute):
        find, folder = _find_script, os.path.dirname(os.path.realpath(absolute))
    else:
        raise NoProgramError(f"there is no file '{path}'; write SCRIPT or -m MODULE")
    # Python's safe path keeps a script's folder out, and has put nothing in its place before.
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path[0] = folder
    elif find is _find_in_folder:
        sys.path.insert(0, folder)
    _run(lambda: find(absolute), [path, *arguments], world)


def run_module(name: str, arguments: Sequence[str], world: World) -> None:
    """Runs a module or package as `python -m name …` does; otherwise as `run_script`."""
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path[0] = os.getcwd()
    _run(lambda: _find_module(name), ["-m", *arguments], world)


def _find_script(path: str):
    loader: Any
    if path.endswith(".pyc"):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        code = loader.get_code("__main__")
    else:
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        code = loader.source_to_code(loader.get_data(path), path)
    return code, {"__file__": path, "__loader__": loader, "__cached__": None}


def _find_in_folder(path: str):
    spec = pkgutil.get_importer(path).find_spec("__main__")
    if spec is None:
        raise NoProgramError(f"there is no __main__.py in '{path}'")
    return _of_spec(spec)


def _find_module(name: str):
    spec = _module_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _module_spec(f"{name}.__main__")
        if spec is None:
            raise NoProgramError(f"'{name}' is a package without a module __main__")
    if spec is None:
        raise NoProgramError(f"there is no module '{name}' here or among the installed ones")
    if not hasattr(spec.loader, "get_code") or spec.loader.get_code(spec.name) is None:
        raise NoProgramError(f"the module '{name}' is not written in Python")
    sys.argv[0] = spec.origin
    return _of_spec(spec)


def _module_spec(name: str):
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        # A package above it that is not there; what is missing inside one is the program's affair.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise


def _of_spec(spec):
    return spec.loader.get_code(spec.name), {
        "__file__": spec.origin,
        "__loader__": spec.loader,
        "__cached__": spec.cached,
        "__spec__": spec,
        "__package__": spec.parent,
    }


def _run(find: Callable[[], tuple[Any, Mapping[str, Any]]], argv: list[str], world: World) -> None:
    """Makes `__main__` and runs it.

    runpy does nearly this, but it puts the module away when its code has ended, where threads, exit
    handlers and pickle may still need it, and it names a script in sys.argv by its full path.

    Args:
      find: returns the code of the program and the attributes of its `__main__`.
      argv: the program's sys.argv.
      world: what it finds.
    """
    world.enter()
    world.bequeath()
    sys.argv[:] = argv
    try:
        code, attributes = find()
        main = types.ModuleType("__main__")
        vars(main).update(attributes, __annotations__={}, __builtins__=builtins)
        sys.modules["__main__"] = main
        exec(code, vars(main))
    except (SystemExit, NoProgramError):
        raise
    except BaseException as error:
        _show_own_frames_only(error)
        raise


def _show_own_frames_only(error: BaseException) -> None:
    """Lets the interpreter print the error without Genever's frames above and between its own."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame, "importlib"):
        trace = trace.tb_next
    shown: BaseException | None = error.with_traceback(trace)
    while shown is not None:
        shown.__traceback__ = _without_ours(shown.__traceback__)
        shown = shown.__cause__ or shown.__context__
    trace, hook = error.__traceback__, sys.excepthook

    def show(kind, value, raised):
        if value is error:
            value, raised = value.with_traceback(trace), trace
        hook(kind, value, raised)

    sys.excepthook = show


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    while trace is not None and _is_ours(trace.tb_frame):
        trace = trace.tb_next
    if trace is not None:
        trace.tb_next = _without_ours(trace.tb_next)
    return trace


def _is_ours(frame: types.FrameType, *others: str) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name in (__name__, _IMPORT) or name.partition(".")[0] in others


def place(error: BaseException) -> str:
    """Returns "file:line: " of the program's line that raised the error, or ""."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((_GENEVER, "<frozen importlib")):
            return f"{frame.filename}:{frame.lineno}: "
    return ""


def _train_and_evaluate(estimator, train_spec, eval_spec):
    import gin

    # The program may have locked a gin config of its own; ours adds names to gin.
    with gin.unlock_config():
        from ..estimators import Estimator, EvalSpec, TrainSpec  # noqa: F401 - names of gin
        from .driver import train_and_evaluate

    return train_and_evaluate(estimator, train_spec, eval_spec)


def _say_cluster() -> None:
    from absl import logging

    logging.warning(
        "TF_CONFIG describes a cluster, which Genever's train_and_evaluate does not drive yet; "
        "TensorFlow's own is used."
    )
