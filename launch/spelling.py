"""How the config at hand writes the names of things, and where it binds them."""

from collections.abc import Sequence

from . import gin_tables
from .gin_files import Binding


def places(bindings: Sequence[Binding]) -> dict[tuple[str, str, str], str]:
    """Returns (scope, complete selector, parameter) -> place; the last binding is in force."""
    return {key: b.where for b in bindings if (key := b.key()) is not None}


class Spelling:
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
