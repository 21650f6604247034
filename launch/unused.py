"""Which bindings of a config no call has used, and why."""

from collections.abc import Sequence

from . import gin_tables
from .gin_files import Binding
from .spelling import Spelling, places


def unused(bindings: Sequence[Binding]) -> list[str]:
    """Returns a line for each binding that no call of this process has used."""
    lines = []
    spelling = Spelling(bindings)
    used = {
        (scope, selector, parameter)
        for (scope, selector), values in gin_tables.operative().items()
        for parameter in values
    }
    for (scope, selector, parameter), where in places(bindings).items():
        if any(s == selector and p == parameter and _reaches(scope, u) for u, s, p in used):
            continue
        name = spelling.parameter(scope, selector, parameter)
        lines.append(f"{where}: '{name}' was never used: {_why(scope, selector)}")
    return lines


def _why(scope: str, selector: str) -> str:
    calls = [under for under, called in gin_tables.operative() if called == selector]
    if not calls:
        return "it was not called"
    if not any(_reaches(scope, under) for under in calls):
        return f"it was not called under the scope '{scope}'"
    return "an explicit argument took its place"


def _reaches(scope: str, under: str) -> bool:
    """Whether what is bound in a scope is seen by a call under another one."""
    return not scope or f"{under}/".startswith(f"{scope}/")
