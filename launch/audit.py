"""Audits a parsed config against the functions it configures, before TensorFlow starts.

gin checks that a parameter exists. The audit follows the references from the entry function and
also finds what gin lets pass: parameters that only `**kwargs` takes, bindings that an explicit
argument shadows, required values that nobody gives, literals of a wrong type, settings that
exclude each other, scopes that nothing enters.
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, get_type_hints

import gin
import typeguard

from . import gin_tables
from .gin_files import Binding, did_you_mean, without_gin

# What an Estimator passes itself to the functions that it is given.
_MODEL_FN = ("features", "labels", "mode", "params", "config")
_INPUT_FN = ("mode", "params", "config", "input_context")

# Parameters of one configurable that say the same thing twice.
_EXCLUSIVE = {
    "genever.RunConfig": [("save_checkpoints_secs", "save_checkpoints_steps")],
    "genever.train_and_evaluate": [
        ("estimator", "model_fn"),
        ("estimator", "params"),
        ("train_spec", "train_input_fn"),
        ("eval_spec", "eval_input_fn"),
    ],
}

# What `train_and_evaluate` calls by itself where the config does not give the object:
# parameter -> (configurable, the arguments that it passes).
_IMPLIED = {
    "genever.train_and_evaluate": {
        "estimator": ("genever.Estimator", {"model_fn": "model_fn", "params": "params"}),
        "train_spec": ("genever.TrainSpec", {"input_fn": "train_input_fn"}),
        "eval_spec": ("genever.EvalSpec", {"input_fn": "eval_input_fn"}),
    }
}

# What is handed on as a function; all else of Genever is handed on as what a call returns.
_FUNCTIONS = {
    "genever.linear_regression",
    "genever.reader_input_fn",
    "genever.wide_deep",
}

# What may be handed on either way: a model_fn or an Estimator makes it inside its graph.
_EITHER = ("estimators.optimizers", "estimators.keras_optimizers", "estimators.schedules")

# What checks its arguments when it is made, at no cost and without TensorFlow.
_CHECK_THEMSELVES = ("genever.CsvReader", "genever.Schema", "genever.TFRecordReader")

# Configurables that make a RunConfig of their own when none is bound.
_OWN_CONFIG = "config"


def check(
    bindings: Sequence[Binding], entry: str, allow_kwargs: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Checks the config that gin has parsed.

    Args:
      bindings: the bindings as written, for their places.
      entry: complete selector of the function that the run will call.
      allow_kwargs: selectors whose `**kwargs` may be bound.

    Returns:
      (mistakes, warnings), a line each.
    """
    spelling = _Spelling(bindings)
    walk = _Walk(_places(bindings), spelling)
    walk.call(entry, [], passed=())
    mistakes = [
        *_swallowed(bindings, allow_kwargs),
        *_exclusive(walk.places, spelling),
        *_wrong_types(walk.places, spelling),
        *_parentheses(walk.places, spelling),
        *walk.mistakes,
    ]
    return mistakes, _unknown_scopes(bindings)


def try_data(entry: str) -> list[str]:
    """Makes the readers and schemas that the run will make, for they check files and arguments.

    Returns:
      A line for each that refuses its arguments.
    """
    walk = _Walk({}, _Spelling(()))
    walk.call(entry, [], passed=())
    lines = []
    for selector, scopes in dict.fromkeys(walk.calls):
        if selector in _CHECK_THEMSELVES:
            with gin.config_scope(list(scopes)):
                try:
                    gin_tables.configurable(selector).wrapper()
                except (ValueError, TypeError, OSError) as error:
                    lines.append(without_gin(str(error)))
    return lines


def unused(bindings: Sequence[Binding]) -> list[str]:
    """Returns a line for each binding that no call of this process has used."""
    lines = []
    spelling = _Spelling(bindings)
    called = {selector for _, selector in gin_tables.operative()}
    used = {
        (scope, selector, parameter)
        for (scope, selector), values in gin_tables.operative().items()
        for parameter in values
    }
    for (scope, selector, parameter), where in _places(bindings).items():
        # A call under a/b uses what is bound under a as well.
        if any(
            s == selector
            and p == parameter
            and (not scope or u == scope or f"{u}/".startswith(f"{scope}/"))
            for u, s, p in used
        ):
            continue
        name = spelling.parameter(scope, selector, parameter)
        why = "an explicit argument took its place" if selector in called else "it was not called"
        lines.append(f"{where}: '{name}' was never used: {why}")
    return lines


def _places(bindings: Sequence[Binding]) -> dict[tuple[str, str, str], str]:
    """Returns (scope, complete selector, parameter) -> place; the last binding is in force."""
    return {key: b.where for b in bindings if (key := b.key()) is not None}


class _Spelling:
    """Names things as the config at hand would write them."""

    def __init__(self, bindings: Sequence[Binding]):
        self._written = {key[1]: b.selector for b in bindings if (key := b.key()) is not None}
        # Under dynamic registration Genever's names are attributes of its rooms.
        self._dynamic = any(
            written.split(".")[0] in ("launch", "estimators", "input_fns")
            for written in self._written.values()
        )

    def name(self, selector: str) -> str:
        """Returns how a complete selector is written."""
        if selector in self._written:
            return self._written[selector]
        found = gin_tables.configurable(selector)
        if found.import_source:
            statement, inner = found.import_source
            bound = statement.is_from or statement.alias
            return f"{statement.bound_name() if bound else statement.module}.{inner}"
        if self._dynamic and found.module == "genever":
            return f"{found.wrapped.__module__.split('.')[1]}.{found.name}"
        return gin_tables.minimal_selector(selector)

    def parameter(self, scope: str, selector: str, parameter: str) -> str:
        """Returns how a parameter of a complete selector is written."""
        prefix = f"{scope}/" if scope else ""
        return f"{prefix}{self.name(selector)}.{parameter}"


class _Walk:
    """Follows a run from its entry function through every reference that a call would follow."""

    def __init__(self, places: dict[tuple[str, str, str], str], spelling: _Spelling):
        self.places = places
        self._spelling = spelling
        self.mistakes: list[str] = []
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self._done: set[tuple] = set()

    def call(self, selector: str, scopes: list[str], passed: Sequence[str], certain=True) -> None:
        """Checks a call of a configurable.

        Args:
          selector: complete selector.
          scopes: the scopes under which it is called.
          passed: the arguments that the caller gives itself.
          certain: whether the caller is known to give nothing but `passed`.
        """
        step = (selector, tuple(scopes), tuple(passed), certain)
        if step in self._done:
            return
        self._done.add(step)
        self.calls.append((selector, tuple(scopes)))
        bound = gin_tables.effective(selector, scopes)
        self._shadowed(selector, scopes, passed)
        implied = _IMPLIED.get(selector, {})
        for parameter, (callee, arguments) in implied.items():
            if parameter not in bound:
                self._implied(selector, bound, parameter, callee, arguments, scopes)
        for parameter in self._missing(selector, bound, passed, certain):
            name = self._spelling.parameter("/".join(scopes), selector, parameter)
            self.mistakes.append(
                f"'{name}' is required and not bound; write {name} = {_example(parameter)}"
            )
        for parameter, value in bound.items():
            self._follow(parameter, value, scopes)
        known = gin_tables.signature(gin_tables.configurable(selector).wrapped)
        if (
            known is not None
            and selector.startswith("genever.")
            and _OWN_CONFIG in known.parameters
            and known.parameters[_OWN_CONFIG].default is None
            and _OWN_CONFIG not in bound
            and _OWN_CONFIG not in passed
            and gin_tables.matches("genever.RunConfig")
        ):
            self.call("genever.RunConfig", scopes, ())

    def _implied(self, selector, bound, parameter, callee, arguments, scopes) -> None:
        given = {inner: outer for inner, outer in arguments.items() if outer in bound}
        main = next(iter(arguments))
        if main not in given and not gin_tables.effective(callee, scopes).get(main):
            outer = arguments[main]
            name = self._spelling.name(selector)
            self.mistakes.append(
                f"'{name}.{outer}' is required and not bound; write {name}.{outer} = "
                f"{_example(outer)} (or bind {name}.{parameter})"
            )
        self.call(callee, scopes, tuple(given))

    def _missing(self, selector, bound, passed, certain) -> list[str]:
        known = gin_tables.signature(gin_tables.configurable(selector).wrapped)
        if known is None:
            return []
        missing = []
        for name, p in known.parameters.items():
            if name in bound or name in passed or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            required = p.default is gin_tables.REQUIRED
            if required or (certain and p.default is inspect.Parameter.empty):
                missing.append(name)
        return missing

    def _follow(self, parameter: str, value: Any, scopes: list[str]) -> None:
        for reference in gin_tables.references(value):
            selector = reference.configurable.selector
            if selector == gin_tables.MACRO:
                name = "/".join(reference.scopes)
                inner = gin_tables.bindings().get((name, selector), {})
                self._follow(parameter, inner.get("value"), list(reference.scopes))
                continue
            if reference.evaluate and _is_function(reference.configurable, parameter):
                continue  # its parentheses are the mistake, and are told as such
            under = list(reference.scopes) or scopes
            if selector == "genever.reader_input_fn":
                self._endless(parameter, under)
            passed = () if reference.evaluate else _passed_to(parameter)
            certain = reference.evaluate or bool(passed)
            self.call(selector, under, passed, certain)

    def _endless(self, parameter: str, scopes: list[str]) -> None:
        """Refuses an input without end where nothing else ends the run."""
        bound = gin_tables.effective("genever.reader_input_fn", scopes)
        if "num_epochs" not in bound or bound["num_epochs"] is not None:
            return
        ends = {
            "train_input_fn": ("genever.TrainSpec", "max_steps"),
            "eval_input_fn": ("genever.EvalSpec", "steps"),
        }
        if parameter not in ends:
            return
        spec, steps = ends[parameter]
        if gin_tables.effective(spec, []).get(steps) is None:
            name = self._spelling.parameter(
                "/".join(scopes), "genever.reader_input_fn", "num_epochs"
            )
            limit = self._spelling.parameter("", spec, steps)
            self.mistakes.append(
                f"'{name}' is None and '{limit}' is not bound, so it would never end; bind one of "
                "them to a number"
            )

    def _shadowed(self, selector: str, scopes: list[str], passed: Sequence[str]) -> None:
        for depth in range(len(scopes) + 1):
            scope = "/".join(scopes[:depth])
            for parameter in passed:
                where = self.places.get((scope, selector, parameter))
                if where:
                    name = self._spelling.parameter(scope, selector, parameter)
                    self.mistakes.append(
                        f"{where}: '{name}' has no effect: its caller passes '{parameter}' "
                        "itself; remove this binding"
                    )


def _passed_to(parameter: str) -> tuple[str, ...]:
    """Returns what an Estimator passes to a function that is bound to this parameter."""
    if parameter == "model_fn":
        return _MODEL_FN
    if parameter == "input_fn" or parameter.endswith("_input_fn"):
        return _INPUT_FN
    return ()


def _example(parameter: str) -> str:
    return f"@your_module.{parameter}" if parameter.endswith("_fn") else "..."


def _swallowed(bindings: Sequence[Binding], allow_kwargs: Sequence[str]) -> Iterator[str]:
    allowed = {match for name in allow_kwargs for match in gin_tables.matches(name)}
    for binding in bindings:
        key = binding.key()
        if key is None or key[1] in allowed:
            continue
        scope, selector, parameter = key
        known = gin_tables.signature(gin_tables.configurable(selector).wrapped)
        if known is None:
            continue
        p = known.parameters.get(parameter)
        if p is not None and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        name = binding.selector
        hint = did_you_mean(parameter, known.parameters)
        yield (
            f"{binding.where}: '{name}' has no parameter '{parameter}', only **kwargs that would "
            f"swallow it{hint or f'; if that is meant, say --allow_kwargs={name}'}"
        )


def _exclusive(places: dict[tuple[str, str, str], str], spelling: _Spelling) -> Iterator[str]:
    for (scope, selector), values in gin_tables.bindings().items():
        for first, second in _EXCLUSIVE.get(selector, ()):
            together = {**gin_tables.effective(selector, scope.split("/") if scope else [])}
            if together.get(first) is None or together.get(second) is None:
                continue
            if first not in values and second not in values:
                continue
            spots = [
                places.get((scope, selector, p)) or places.get(("", selector, p), "")
                for p in (first, second)
            ]
            name = spelling.name(selector)
            yield (
                f"{spots[1]}: '{name}.{second}' and '{name}.{first}' ({spots[0]}) exclude each "
                "other; remove one"
            )


def _wrong_types(places: dict[tuple[str, str, str], str], spelling: _Spelling) -> Iterator[str]:
    for (scope, selector), values in gin_tables.bindings().items():
        if not selector.startswith("genever."):
            continue  # a user's annotations may be wrong or loose; Genever's are kept true
        wrapped = gin_tables.configurable(selector).wrapped
        target = wrapped.__init__ if inspect.isclass(wrapped) else inspect.unwrap(wrapped)
        hints = get_type_hints(target)
        for parameter, value in values.items():
            if parameter not in hints or any(True for _ in gin_tables.references(value)):
                continue
            try:
                typeguard.check_type(value, hints[parameter])
            except typeguard.TypeCheckError:
                where = places.get((scope, selector, parameter), "config")
                wanted = inspect.formatannotation(hints[parameter]).replace("collections.abc.", "")
                name = spelling.parameter(scope, selector, parameter)
                yield f"{where}: '{name}' is {value!r}; it must be {wanted}"


def _is_function(target: gin_tables.Configurable, parameter: str) -> bool:
    """Whether a configurable itself, and not what it returns, is meant for a parameter."""
    if target.selector in _FUNCTIONS:
        return True
    known = gin_tables.signature(target.wrapped) if parameter == "model_fn" else None
    return known is not None and {"features", "mode"} <= set(known.parameters)


def _parentheses(places: dict[tuple[str, str, str], str], spelling: _Spelling) -> Iterator[str]:
    """Finds Genever's names that Genever's parameters want with, or without, `()`."""
    for (scope, selector), values in gin_tables.bindings().items():
        if not selector.startswith("genever."):
            continue  # a user's function may want the constructor itself
        for parameter, value in values.items():
            for reference in gin_tables.references(value):
                target = reference.configurable
                function = _is_function(target, parameter)
                own = target.module == "genever"
                if own and target.wrapped.__module__.endswith(_EITHER):
                    continue
                if function != reference.evaluate or not (own or function):
                    continue
                called = not function
                name = "/".join([*reference.scopes, spelling.name(target.selector)])
                where = places.get((scope, selector, parameter), "config")
                wanted = f"@{name}() with" if called else f"@{name} without"
                yield (
                    f"{where}: '{spelling.parameter(scope, selector, parameter)}' wants {wanted} "
                    "parentheses"
                )


def _unknown_scopes(bindings: Sequence[Binding]) -> list[str]:
    entered = {
        "/".join(name.split("/")[:depth])
        for b in bindings
        for name in b.names
        for depth in range(1, len(name.split("/")))
    }
    lines = []
    for b in bindings:
        if b.scope and b.target is not None and b.scope not in entered:
            hint = did_you_mean(b.scope, entered)
            lines.append(f"{b.where}: no reference enters the scope '{b.scope}'{hint}")
    return lines
