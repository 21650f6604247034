"""Audits a parsed config against the functions it configures, before TensorFlow starts.

gin checks that a parameter exists. The audit follows the references from the entry function and
also finds what gin lets pass: parameters that only `**kwargs` takes, bindings that an explicit
argument shadows, required values that nobody gives, literals of a wrong type, settings that
exclude each other, scopes that nothing enters.
"""

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_type_hints

import gin
import typeguard

from ..input_fns.errors import did_you_mean
from . import gin_tables
from .gin_files import Binding, without_gin
from .run_walk import EITHER, Walk, is_function, wrong_kind
from .spelling import Spelling, places

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

# What checks its arguments when it is made, at no cost and without TensorFlow.
_CHECK_THEMSELVES = ("genever.CsvReader", "genever.Schema", "genever.TFRecordReader")


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
    spelling = Spelling(bindings)
    walk = Walk(places(bindings), spelling)
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
    walk = Walk({}, Spelling(()))
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


def _exclusive(places: dict[tuple[str, str, str], str], spelling: Spelling) -> Iterator[str]:
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


def _wrong_types(places: dict[tuple[str, str, str], str], spelling: Spelling) -> Iterator[str]:
    for (scope, selector), values in gin_tables.bindings().items():
        if not selector.startswith("genever."):
            continue  # a user's annotations may be wrong or loose; Genever's are kept true
        wrapped = gin_tables.configurable(selector).wrapped
        target = wrapped.__init__ if inspect.isclass(wrapped) else inspect.unwrap(wrapped)
        hints = get_type_hints(target)
        for parameter, value in values.items():
            if parameter not in hints or any(True for _ in gin_tables.references(value)):
                continue
            if not _fits(value, hints[parameter]):
                where = places.get((scope, selector, parameter), "config")
                wanted = inspect.formatannotation(hints[parameter]).replace("collections.abc.", "")
                wanted = wanted.replace("typing.", "")
                name = spelling.parameter(scope, selector, parameter)
                yield f"{where}: '{name}' is {value!r}; it must be {wanted}{_near(value, wanted)}"


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) and "bool" not in str(wanted) and "Any" not in str(wanted):
        return False  # for Python True is an int
    try:
        typeguard.check_type(
            value,
            wanted,
            collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS,
        )
    except typeguard.TypeCheckError:
        return False
    return True


def _near(value: Any, wanted: str) -> str:
    """Returns a "did you mean" for the first text that is none of the literals wanted."""
    if "Literal[" not in wanted:
        return ""
    known = re.findall(r"'([^']*)'", wanted)
    texts = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
    for text in texts:
        if isinstance(text, str) and text not in known:
            return did_you_mean(text, known)
    return ""


def _parentheses(places: dict[tuple[str, str, str], str], spelling: Spelling) -> Iterator[str]:
    """Finds Genever's names that Genever's parameters want with, or without, `()`."""
    for (scope, selector), values in gin_tables.bindings().items():
        if not selector.startswith("genever."):
            continue  # a user's function may want the constructor itself
        for parameter, value in values.items():
            for reference in gin_tables.references(value):
                target = reference.configurable
                if wrong_kind(parameter, target):
                    continue  # the walk tells it
                function = is_function(target, parameter)
                own = target.module == "genever"
                if own and target.wrapped.__module__.endswith(EITHER):
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
    """Finds scopes that are bound and not entered, and entered ones that look misspelt."""
    bound, entered = set(), set()
    for (scope, selector), values in gin_tables.bindings().items():
        if selector != gin_tables.MACRO and scope:
            bound.add(scope)
        for reference in gin_tables.references(values):
            if reference.configurable.selector != gin_tables.MACRO:
                depths = range(1, len(reference.scopes) + 1)
                entered |= {"/".join(reference.scopes[:depth]) for depth in depths}
    in_force = places(bindings)
    lines = []
    for b in bindings:
        if in_force.get(b.key()) != b.where and b.target is not None:
            continue  # a later binding took its place
        if b.target is not None and b.scope and b.scope not in entered:
            hint = did_you_mean(b.scope, entered)
            lines.append(f"{b.where}: no reference enters the scope '{b.scope}'{hint}")
        for name in b.names:
            scope = name.rpartition("/")[0]
            near = did_you_mean(scope, bound - entered) if scope and scope not in bound else ""
            if near:
                lines.append(f"{b.where}: nothing is bound in the scope '{scope}'{near}")
    return lines
