"""Follows a run through its config: from the entry function through every call that it makes.

The walk finds what only a reader of the whole config sees: required values that nobody gives,
bindings that an explicit argument shadows, inputs without an end, functions of the wrong kind.
"""

import inspect
from collections.abc import Sequence
from typing import Any

from ..input_fns.errors import did_you_mean
from . import gin_tables
from .spelling import Spelling

# What an Estimator passes itself to the functions that it is given.
_MODEL_FN = ("features", "labels", "mode", "params", "config")
_INPUT_FN = ("mode", "params", "config", "input_context")

# What `train_and_evaluate` calls by itself where the config does not give the object:
# parameter -> (configurable, the arguments that it passes).
_IMPLIED = {
    "genever.train_and_evaluate": {
        "estimator": ("genever.Estimator", {"model_fn": "model_fn", "params": "params"}),
        "train_spec": ("genever.TrainSpec", {"input_fn": "train_input_fn"}),
        "eval_spec": ("genever.EvalSpec", {"input_fn": "eval_input_fn"}),
    }
}

# Configurables that make a RunConfig of their own when none is bound.
_OWN_CONFIG = "config"

# Genever's own functions that are handed on as they are, by kind; all else is handed on called.
FUNCTIONS = {
    "model_fn": {"genever.linear_regression", "genever.sharded_linear", "genever.wide_deep"},
    "input_fn": {"genever.reader_input_fn"},
}


# What may be handed on either way: a model_fn or an Estimator makes it inside its graph.
EITHER = ("estimators.optimizers", "estimators.keras_optimizers", "estimators.schedules")


class Walk:
    """Follows a run from its entry function through every reference that a call would follow."""

    def __init__(self, places: dict[tuple[str, str, str], str], spelling: Spelling):
        self.places = places
        self._spelling = spelling
        self.mistakes: list[str] = []
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self._done: set[tuple] = set()

    def call(
        self,
        selector: str,
        scopes: list[str],
        passed: Sequence[str],
        certain: bool = True,
        told: Sequence[str] = (),
    ) -> None:
        """Checks a call of a configurable.

        Args:
          selector: complete selector.
          scopes: the scopes under which it is called.
          passed: the arguments that the caller gives itself.
          certain: whether the caller is known to give nothing but `passed`.
          told: parameters whose lack is told elsewhere.
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
        for parameter in self._missing(selector, bound, (*passed, *told), certain):
            name = self._spelling.parameter("/".join(scopes), selector, parameter)
            self.mistakes.append(
                f"'{name}' is required and not bound; write {name} = {_example(parameter)}"
                + self._scope_hint(scopes)
            )
        for parameter, value in bound.items():
            self._follow(selector, parameter, value, scopes)
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
        self.call(callee, scopes, tuple(given), told=tuple(arguments))

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

    def _follow(self, owner: str, parameter: str, value: Any, scopes: list[str]) -> None:
        for reference in gin_tables.references(value):
            target = reference.configurable
            if target.selector == gin_tables.MACRO:
                name = "/".join(reference.scopes)
                inner = gin_tables.bindings().get((name, target.selector), {})
                self._follow(owner, parameter, inner.get("value"), list(reference.scopes))
                continue
            if self._wrong_kind(owner, parameter, target):
                continue
            if reference.evaluate and is_function(target, parameter):
                continue  # its parentheses are the mistake, and are told as such
            under = list(reference.scopes) or scopes
            if target.selector == "genever.reader_input_fn":
                self._endless(parameter, under)
            passed = () if reference.evaluate else _passed_to(parameter)
            made_later = target.wrapped.__module__.endswith(EITHER)
            certain = reference.evaluate or bool(passed) or made_later
            self.call(target.selector, under, passed, certain)

    def _wrong_kind(self, owner: str, parameter: str, target: gin_tables.Configurable) -> bool:
        """Tells a name of Genever that is no function of the kind that a parameter wants."""
        if not wrong_kind(parameter, target):
            return False
        kind = kind_of(parameter)
        name = self._spelling.name(target.selector)
        hint = f"; write @{' or @'.join(sorted(n.split('.')[1] for n in FUNCTIONS[kind]))}"
        if target.wrapped.__module__.endswith("estimators.canned"):
            entry = self._spelling.parameter("", "genever.train_and_evaluate", "estimator")
            hint = f"; write {entry} = @{name}() instead"
        wanted = self._spelling.parameter("", owner, parameter)
        self.mistakes.append(f"'{wanted}' wants a function, and @{name} is no {kind}{hint}")
        return True

    def _scope_hint(self, scopes: list[str]) -> str:
        """Returns "; did you mean the scope 'x'?" where a scope binds nothing."""
        bound = {scope for scope, selector in gin_tables.bindings() if selector != gin_tables.MACRO}
        scope = "/".join(scopes)
        hint = did_you_mean(scope, bound - {""}) if scope and scope not in bound else ""
        return hint.replace("mean '", "mean the scope '")

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


def kind_of(parameter: str) -> str | None:
    """Returns "model_fn" or "input_fn" where a parameter wants one, else None."""
    if parameter == "model_fn":
        return "model_fn"
    return "input_fn" if parameter == "input_fn" or parameter.endswith("_input_fn") else None


def wrong_kind(parameter: str, target: gin_tables.Configurable) -> bool:
    """Whether a parameter wants a function, and a name of Genever is none of that kind."""
    kind = kind_of(parameter)
    return bool(kind) and target.module == "genever" and target.selector not in FUNCTIONS[kind]


def is_function(target: gin_tables.Configurable, parameter: str) -> bool:
    """Whether a configurable itself, and not what it returns, is meant for a parameter."""
    if any(target.selector in names for names in FUNCTIONS.values()):
        return True
    known = gin_tables.signature(target.wrapped) if parameter == "model_fn" else None
    return known is not None and {"features", "mode"} <= set(known.parameters)


def _passed_to(parameter: str) -> tuple[str, ...]:
    """Returns what an Estimator passes to a function that is bound to this parameter."""
    return {"model_fn": _MODEL_FN, "input_fn": _INPUT_FN}.get(kind_of(parameter), ())


def _example(parameter: str) -> str:
    return f"@your_module.{parameter}" if parameter.endswith("_fn") else "..."
