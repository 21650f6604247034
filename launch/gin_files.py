"""Finds and reads gin files: every statement with its place, every name resolved.

gin itself stops at the first mistake and says little of what was meant. This reading comes before
gin's own: it collects all mistakes of names, each with file, line and the nearest right name.
"""

import dataclasses
import inspect
import io
import os
import re
import sys
import tokenize
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gin
from gin import config_parser

from ..input_fns.errors import did_you_mean
from . import gin_tables
from .preemption import Preempted

_FUNCTION = re.compile(r"<(?:function|class|bound method) '?([\w.]+)'?(?: at 0x[0-9a-f]+)?>")
_OBJECT = re.compile(r"<([\w.]+) object at 0x[0-9a-f]+>")
SHIPPED = os.path.normpath(os.path.join(os.path.dirname(__file__), os.pardir, "configs"))


class ConfigError(ValueError):
    """A user's mistake in a config: one line for each, with its place and the cure."""


@dataclasses.dataclass(frozen=True)
class Binding:
    """One `scope/selector.parameter = value` as it was written.

    Attributes:
      where: the place for a reader, as in "run.gin:3".
      scope: the scope before the selector, "" without one.
      selector: the name of what is bound, as it was written; "" for a macro.
      target: the function or class that is bound; None for a macro.
      parameter: the parameter's name; for a macro the macro's name.
      names: the selectors of the references in the value, with their scopes.
    """

    where: str
    scope: str
    selector: str
    target: Callable | None
    parameter: str
    names: tuple[str, ...] = ()

    def key(self) -> tuple[str, str, str] | None:
        """Returns (scope, complete selector, parameter) in gin's tables; None for a macro."""
        found = gin_tables.lookup(self.target) if self.target is not None else None
        return (self.scope, found.selector, self.parameter) if found else None


@dataclasses.dataclass(frozen=True)
class _Name:
    """A reference (`@scope/name`) or a macro (`%name`) in a value that is being read."""

    text: str
    macro: bool


class _Names(config_parser.ParserDelegate):
    def configurable_reference(self, scoped_configurable_name, evaluate):
        return _Name(scoped_configurable_name, macro=False)

    def macro(self, macro_name):
        return _Name(macro_name, macro=True)


def find(filename: str) -> str:
    """Returns the path of a gin file: in the working folder, or among the shipped ones.

    Raises:
      ConfigError: if it is nowhere; the message names the nearest file that exists.
    """
    folders = [""] if os.path.isabs(filename) else [*gin_tables.search_paths(), SHIPPED]
    for folder in folders:
        path = os.path.join(folder, filename)
        if os.path.isfile(path):
            return path
    here = [f for folder in folders for f in _listing(folder or os.curdir) if f.endswith(".gin")]
    if os.path.dirname(filename):
        here += _listing(os.path.dirname(filename))
    raise ConfigError(
        f"no gin file '{filename}' in the working folder or among the shipped ones ({SHIPPED})"
        + did_you_mean(os.path.basename(filename), here)
    )


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


class Reading:
    """Reads gin sources one after another and collects bindings and mistakes.

    Attributes:
      bindings: every binding, in the order in which gin will see it.
      mistakes: one line for each mistake.
      warnings: one line for each thing that is allowed but likely not meant.
    """

    def __init__(self):
        self.bindings: list[Binding] = []
        self.mistakes: list[str] = []
        self.warnings: list[str] = []
        self._macros: dict[str, str] = {}
        self._macro_uses: list[tuple[str, str]] = []
        self._symbols: dict[str, Any] | None = None
        self._imports: list[str] = []
        self._failed: set[str] = set()

    def file(self, path: str, within: tuple[str, ...] = ()) -> None:
        """Reads a gin file and, in their place, those that it includes."""
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            self.mistakes.append(f"{path}: cannot be read: {error}")
            return
        outer = self._symbols, self._imports
        self._symbols, self._imports = None, []
        self._read(text, lambda line: f"{path}:{line}", (*within, os.path.abspath(path)))
        if within:
            self._symbols, self._imports = outer

    def parameter(self, text: str, flag: str) -> str:
        """Reads a binding of the command line and returns what gin is to parse for it.

        It may use the names of the gin file read last, also those that the file imported.
        """
        known, self._symbols = self._symbols, None
        first = text.split("=")[0].split("/")[-1].strip().split(".")[0]
        header = ""
        if known is not None and first in known:
            self._symbols = known
            header = "\n".join(["from __gin__ import dynamic_registration", *self._imports]) + "\n"
        self._read(text, lambda line: f"{flag} '{text}'", ())
        self._symbols = known
        return header + text

    def finish(self) -> None:
        """Checks what can only be checked when all is read: the macros."""
        for name, where in self._macro_uses:
            if name not in self._macros and not gin_tables.is_constant(name):
                self.mistakes.append(
                    f"{where}: no macro '{name}' is defined{did_you_mean(name, self._macros)}"
                )
        for name, where in self._macros.items():
            if name not in {used for used, _ in self._macro_uses}:
                self.warnings.append(f"{where}: the macro '{name}' is never used")

    def _read(self, text: str, place: Callable[[int], str], within: tuple[str, ...]) -> None:
        seen: dict[tuple[str, str, str], str] = {}
        try:
            for statement in _statements(text):
                self._statement(statement, place(statement.location.line_num), within, seen)
        except (SyntaxError, tokenize.TokenError) as error:
            line = getattr(error, "lineno", None) or (error.args[1][0] if error.args[1:] else 1)
            reason = str(error.args[0]).split("\n")[0].rstrip(".")
            self.mistakes.append(f"{place(line)}: not valid gin: {reason}")

    def _statement(self, statement, where, within, seen) -> None:
        if isinstance(statement, config_parser.ImportStatement):
            self._import(statement, where)
        elif isinstance(statement, config_parser.IncludeStatement):
            try:
                path = find(statement.filename)
            except ConfigError as error:
                self.mistakes.append(f"{where}: {error}")
                return
            if os.path.abspath(path) in within:
                self.mistakes.append(f"{where}: '{path}' includes itself; remove this include")
                return
            self.file(path, within)
        elif isinstance(statement, config_parser.BlockDeclaration):
            self._resolve(statement.selector, where)
        else:
            self._binding(statement, where, seen)

    def _binding(self, statement, where, seen) -> None:
        names = list(_names_in(statement.value))
        for name in names:
            if name.macro:
                self._macro_uses.append((name.text, where))
            else:
                self._resolve(name.text.split("/")[-1], where)
        scope, selector, parameter = statement.scope, statement.selector, statement.arg_name
        again = seen.setdefault((scope, selector, parameter), where)
        if again is not where:
            self.warnings.append(f"{where}: overrides {again}, which binds the same parameter")
        texts = tuple(name.text for name in names if not name.macro)
        if not parameter:
            macro = f"{scope}/{selector}" if scope else selector
            self._macros[macro] = where
            self.bindings.append(Binding(where, "", "", None, macro, texts))
            return
        target = self._resolve(selector, where)
        if target is None:
            return
        found = gin_tables.lookup(target)
        if found and parameter in (found.denylist or ()):
            self.mistakes.append(
                f"{where}: '{selector}.{parameter}' has no effect: its caller passes "
                f"'{parameter}' itself; remove this binding"
            )
            return
        known = gin_tables.signature(found.wrapped if found else target)
        if known is not None and parameter not in _bindable(known) and not _has_kwargs(known):
            self.mistakes.append(
                f"{where}: '{selector}' has no parameter '{parameter}'"
                + (
                    did_you_mean(parameter, _bindable(known))
                    or f"; it has {', '.join(_bindable(known)) or 'none'}"
                )
            )
            return
        self.bindings.append(Binding(where, scope, selector, target, parameter, texts))

    def _import(self, statement, where) -> None:
        if statement.is_from and statement.module.startswith("__gin__."):
            if statement.module != "__gin__.dynamic_registration":
                feature = statement.module.split(".", 1)[1]
                self.mistakes.append(
                    f"{where}: gin has no feature '{feature}'"
                    + did_you_mean(feature, ["dynamic_registration"])
                )
            elif self._symbols is None:
                self._symbols = {}
            return
        try:
            fromlist = [""] if statement.is_from or statement.alias else None
            module = __import__(statement.module, fromlist=fromlist)
        except BaseException as error:  # a user's module may raise anything, sys.exit() too
            if isinstance(error, KeyboardInterrupt | Preempted):
                raise
            self.mistakes.append(f"{where}: {_import_failure(statement.module, error)}")
            self._failed.add(statement.bound_name())
            return
        if self._symbols is not None:
            self._symbols[statement.bound_name()] = module
            self._imports.append(statement.format())

    def _resolve(self, selector: str, where: str) -> Callable | None:
        """Returns what a selector names; adds a mistake and returns None where it names nothing."""
        if self._symbols is None:
            return self._registered(selector, where)
        first, *rest = selector.split(".")
        if first == "gin":
            return getattr(gin.config, rest[0], None) if rest else None
        if first in self._failed:
            return None  # its import is the mistake, and is told once
        if first not in self._symbols:
            self.mistakes.append(
                f"{where}: '{selector}': nothing named '{first}' is imported in this file"
                + did_you_mean(first, self._symbols)
            )
            return None
        value = self._symbols[first]
        for i, name in enumerate(rest):
            try:
                value = getattr(value, name)
            except AttributeError:
                owner = ".".join([first, *rest[:i]])
                self.mistakes.append(
                    f"{where}: '{owner}' has no '{name}'{did_you_mean(name, dir(value))}"
                )
                return None
        if not callable(value):
            self.mistakes.append(f"{where}: '{selector}' is not a function or class")
            return None
        return value

    def _registered(self, selector: str, where: str) -> Callable | None:
        found = gin_tables.matches(selector)
        if len(found) == 1:
            return gin_tables.configurable(found[0]).wrapped
        if found:
            self.mistakes.append(
                f"{where}: '{selector}' could be {' or '.join(sorted(found))}; write the one meant"
            )
            return None
        own_name = selector.rsplit(".", 1)[-1]
        known = {name.rsplit(".", 1)[-1] for name in gin_tables.names()}
        hint = f"; did you mean '{own_name}'?" if own_name in known else ""
        hint = hint or did_you_mean(own_name, known)
        self.mistakes.append(
            f"{where}: no configurable is named '{selector}'"
            + (hint or "; import the module that registers it, or see `genever check --names`")
        )
        return None


def _statements(text: str) -> Iterator[Any]:
    return iter(config_parser.ConfigParser(io.StringIO(text), _Names()))


def _names_in(value: Any) -> Iterator[_Name]:
    if isinstance(value, _Name):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _names_in(key)
            yield from _names_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _names_in(item)


def _bindable(signature: inspect.Signature) -> list[str]:
    wanted = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, p in signature.parameters.items() if p.kind in wanted]


def _has_kwargs(signature: inspect.Signature) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())


def _import_failure(module: str, error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and module.startswith(error.name or "\0"):
        beside = [
            name.removesuffix(".py")
            for folder in sys.path[:2]
            for name in _listing(folder or os.curdir)
            if name.endswith(".py")
        ]
        return (
            f"cannot import '{module}': no module '{error.name}' beside the gin file, in the "
            f"working folder or installed{did_you_mean(module, beside)}"
        )
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError):
        place = f" at {error.filename}:{error.lineno}"
    reason = str(error).split("\n")[0]
    return f"importing '{module}' failed{place}: {type(error).__name__}: {reason}"


def add_import_paths(paths: Sequence[str]) -> None:
    """Lets gin files import modules that lie beside them or in the working folder."""
    for folder in reversed([*(os.path.dirname(os.path.abspath(p)) for p in paths), os.getcwd()]):
        # gin would take the folders among the shipped files for packages without an `__init__`.
        if folder not in sys.path and folder != SHIPPED:
            sys.path.insert(0, folder)


def without_gin(text: str) -> str:
    """Returns the message with gin's "In call to configurable" lines made into a short tail."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    calls = [line.split("'")[1] for line in lines if line.startswith("In call to configurable")]
    gin_says = ("In call to", "No values supplied", "Gin had values", "Caller supplied")
    kept = [line for line in lines if not line.startswith(gin_says)]
    first = " ".join(kept[:2]) or "a value is wrong"
    # An address in memory tells nobody anything.
    first = re.sub(
        r"<(?:function|class|bound method) '?([\w.]+)'?(?: at 0x[0-9a-f]+)?>", r"\1", first
    )
    first = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", r"a \1", first)
    return f"{first} (in {calls[0]})" if calls and calls[0] not in first else first
