"""Loads the config of a run: gin files and command-line bindings, parsed, audited and locked."""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator, Sequence

import gin

from .. import estimators, input_fns, launch
from . import audit, gin_tables
from .gin_files import SHIPPED, Binding, ConfigError, Reading, add_import_paths, find
from .unused import unused


@dataclasses.dataclass(frozen=True)
class Config:
    """A config that was parsed and audited; gin holds its values, locked.

    Attributes:
      bindings: every binding as it was written, in the order in which they took effect.
      warnings: what is allowed but likely not meant, one line each.
    """

    bindings: tuple[Binding, ...]
    warnings: tuple[str, ...]

    def unused(self) -> list[str]:
        """Returns a line for each binding that no call has used so far."""
        return unused(self.bindings)


def register() -> None:
    """Registers Genever's own configurables with gin, without importing TensorFlow."""
    for room in (estimators, input_fns, launch):
        for name in room.__all__:
            getattr(room, name)


def load(
    gin_files: Sequence[str],
    gin_params: Sequence[str] = (),
    model_dir: str | None = None,
    entry: str = "genever.train_and_evaluate",
    allow_kwargs: Sequence[str] = (),
) -> Config:
    """Parses, audits and locks the config of a run.

    Config files are searched in the working folder and among the shipped ones; modules that they
    import are searched beside the gin file, in the working folder and where Python looks.

    Args:
      gin_files: paths or shipped names of gin files; later ones override earlier ones.
      gin_params: bindings such as "AdamOptimizer.learning_rate = 0.1", which override the files.
      model_dir: overrides `RunConfig.model_dir`.
      entry: complete selector of the configurable that the run will call.
      allow_kwargs: selectors whose `**kwargs` may take parameters that their signature lacks.

    Returns:
      The audited config; `gin` is locked.

    Raises:
      ConfigError: names every mistake that was found, a line each.
    """
    if not gin_files:
        raise ConfigError("no gin file is given; write --gin_file path/to/run.gin")
    register()
    gin_tables.no_files_in_folders_without_init()
    gin.add_config_file_search_path(SHIPPED)
    paths = [find(name) for name in gin_files]
    add_import_paths(paths)
    for path in paths:
        gin.add_config_file_search_path(os.path.dirname(path) or ".")

    reading = Reading()
    for path in paths:
        reading.file(path)
    texts = [reading.parameter(text, "--gin_param") for text in gin_params]
    if model_dir is not None:
        texts.append(reading.parameter(f"RunConfig.model_dir = {model_dir!r}", "--model_dir"))
    reading.finish()
    _stop_at(reading.mistakes)

    with gin.unlock_config(), _no_path_errors():
        try:
            for path in paths:
                gin.parse_config_file(path)
            for text in texts:
                gin.parse_config(text)
        except Exception as error:  # what the reading above did not foresee is still the config's
            raise ConfigError(" ".join(str(error).split("\n")[:3])) from error
    mistakes, warnings = audit.check(reading.bindings, entry, allow_kwargs)
    _stop_at(mistakes)
    if not gin.config_is_locked():
        gin.finalize()
    _stop_at(audit.try_data(entry))
    return Config(tuple(reading.bindings), tuple([*reading.warnings, *warnings]))


@contextlib.contextmanager
def _no_path_errors() -> Iterator[None]:
    """Silences gin's error lines about the folders in which an included file is not."""

    def other(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Path not found")

    logging.getLogger().addFilter(other)
    try:
        yield
    finally:
        logging.getLogger().removeFilter(other)


def _stop_at(mistakes: Sequence[str]) -> None:
    if mistakes:
        raise ConfigError("\n".join(dict.fromkeys(mistakes)))


def resolved() -> list[tuple[str, str]]:
    """Returns the bindings that are in force, as ("scope/selector.parameter", value) lines."""
    rows = []
    for (scope, selector), values in sorted(gin_tables.bindings().items()):
        if selector == gin_tables.MACRO:
            continue
        prefix = f"{scope}/" if scope else ""
        name = prefix + gin_tables.minimal_selector(selector)
        rows += [(f"{name}.{parameter}", repr(value)) for parameter, value in values.items()]
    return rows


def train_strategy() -> str | None:
    """Returns the name of the strategy that the config trains with, or None."""
    bound = None
    for (_, selector), values in gin_tables.bindings().items():
        if selector == "genever.RunConfig" and values.get("train_distribute") is not None:
            bound = values["train_distribute"]
    if bound is None:
        return None
    reference = next(gin_tables.references(bound), None)
    return reference.configurable.name if reference else type(bound).__name__
