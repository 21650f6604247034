"""`genever lint`: what breaks in a project's source, on which version, and what to do about it.

Reads files; never imports or runs them, and never imports TensorFlow.
"""

import collections
import dataclasses
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence

from . import lint_contrib, lint_sources, tf1_names
from .lint_names import BUILTIN, METHOD, Use
from .lint_rules import Facts, Rule, Table, Target, Verdict

_TF = "tf."
_TF1 = "tf.compat.v1."
_CONTRIB = "tf.contrib"
# How many further lines with the same finding are listed by number.
_LISTED_LINES = 8


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place in a project that breaks somewhere.

    Attributes:
      path: the file; for a notebook with the number of the cell, as in "a.ipynb#cell2".
      line: the line, from 1.
      name: what is used there.
      breaks: on which versions, in words.
      verdict: what the user has to do.
      cure: what Genever does about it, or what to write instead.
    """

    path: str
    line: int
    name: str
    breaks: str
    verdict: Verdict
    cure: str


@dataclasses.dataclass(frozen=True)
class Report:
    """All findings, by file and line, and how many files were read."""

    findings: list[Finding]
    files: int

    def count(self) -> dict[Verdict, int]:
        """The number of findings for each verdict, the gravest first."""
        counted = collections.Counter(finding.verdict for finding in self.findings)
        return {verdict: counted[verdict] for verdict in reversed(Verdict)}

    def text(self) -> str:
        """The report for a reader."""
        blocks = []
        for _, found in itertools.groupby(self.findings, key=lambda finding: finding.path):
            blocks.append("\n".join(_merged(found)))
        blocks.append(self._summary())
        return "\n\n".join(blocks)

    def json(self) -> str:
        """The report for a tool."""
        return json.dumps(
            {
                "files": self.files,
                "summary": {verdict.value: number for verdict, number in self.count().items()},
                "findings": [
                    {**dataclasses.asdict(finding), "verdict": finding.verdict.value}
                    for finding in self.findings
                ],
            },
            indent=1,
        )

    def _summary(self) -> str:
        files = f"{self.files} file{'' if self.files == 1 else 's'} read"
        if not self.findings:
            return f"{files}: nothing breaks"
        numbers = self.count()
        lines = [f"{files}, {len(self.findings)} places:"]
        lines += [f"  {number:>5} {verdict.value}" for verdict, number in numbers.items()]
        if not numbers[Verdict.CHANGE]:
            option = " --tf1" if numbers[Verdict.TF1] else ""
            lines.append(f"Nothing must be changed: start it with `genever run{option} SCRIPT`.")
        return "\n".join(lines)


def _merged(findings: Iterable[Finding]) -> Iterator[str]:
    """One line for each name of a file, at its first place, with the other lines after it."""
    same: dict[tuple, list[int]] = {}
    for finding in findings:
        key = (finding.path, finding.name, finding.breaks, finding.verdict, finding.cure)
        same.setdefault(key, []).append(finding.line)
    for (path, name, breaks, verdict, cure), lines in same.items():
        more = sorted(set(lines[1:]) - {lines[0]})
        also = ""
        if more:
            listed = ", ".join(map(str, more[:_LISTED_LINES]))
            rest = len(more) - _LISTED_LINES
            word = "line" if len(more) == 1 else "lines"
            also = f" (also {word} {listed}{f' and {rest} more' if rest > 0 else ''})"
        yield f"{path}:{lines[0]}: {name} — breaks {breaks} — {verdict.value}: {cure}{also}"


def lint(paths: Sequence[str], target: Target | None = None) -> Report:
    """Reads the files and folders of a project.

    Args:
      paths: files (.py, .gin, .ipynb) and folders, which are searched.
      target: the versions that the program shall run on; all supported ones if not given.

    Raises:
      ValueError: a path does not exist.
    """
    judge = _Judge(target or Target())
    paths = lint_sources.files(paths)
    own = _own_modules(paths)

    def broken(use: Use) -> bool:
        return judge.is_broken(use)

    sources = [source for path in paths for source in lint_sources.read(path, broken, judge.loose)]
    project = frozenset(use.name for source in sources for use in source.uses)
    findings: list[Finding] = []
    for source in sources:
        if source.unreadable is not None:
            line, why = source.unreadable
            findings.append(
                Finding(
                    source.path, line, "the file", "on every supported version", Verdict.CHANGE, why
                )
            )
            continue
        first_lines: dict[str, int] = {}
        for use in source.uses:
            first_lines.setdefault(use.name, use.line)
        findings += judge.findings(
            source.path,
            [use for use in source.uses if use.name.partition(".")[0] not in own],
            Facts(first_lines, project, source.words),
        )
    return Report(_with_conflicts(findings, sources), len(paths))


def _own_modules(paths: Iterable[str]) -> frozenset[str]:
    """The names of the project's modules and packages, which hide others of that name."""
    own = set()
    for path in paths:
        own.add(os.path.splitext(os.path.basename(path))[0])
        own.add(os.path.basename(os.path.dirname(os.path.abspath(path))))
    return frozenset(own - {"tf", "tensorflow", "numpy", "collections", "inspect", "os", "sys"})


class _Judge:
    def __init__(self, target: Target):
        self._target = target
        self._table = Table()
        self._names = tf1_names.load()
        self._verdicts: dict[str, bool] = {}
        self.loose = self._table.loose

    def is_broken(self, use: Use) -> bool:
        """Whether the use fails where Genever alone does not help, as far as it tells by itself."""
        known = self._verdicts.get(use.name)
        if known is None:
            rules = self._rules(use.name)
            # Who asks whether an object has a method expects that some have not.
            sure = (r for r in rules if r.when is None or use.name.startswith(METHOD))
            rule = next(sure, None)
            known = rule is not None and rule.verdict in (Verdict.TF1, Verdict.CHANGE)
            self._verdicts[use.name] = known
        return known or self._other_arguments(use) is not None

    def findings(self, path: str, uses: Iterable[Use], facts: Facts) -> Iterator[Finding]:
        once: set[int] = set()
        seen: set[tuple[str, int]] = set()
        for use in uses:
            rule = self._rule(use, facts)
            if rule is None or (use.name, use.line) in seen:
                continue
            seen.add((use.name, use.line))
            if rule.once:
                if id(rule) in once:
                    continue
                once.add(id(rule))
            yield Finding(
                path, use.line, _shown(use.name, rule), rule.breaks(), rule.verdict, rule.cure
            )

    def _rule(self, use: Use, facts: Facts) -> Rule | None:
        rule = next(
            (r for r in self._rules(use.name) if r.when is None or r.when(use, facts)), None
        )
        other = self._other_arguments(use)
        if other is not None and (rule is None or rule.verdict.weight < other.verdict.weight):
            return other
        return rule

    def _rules(self, name: str) -> Iterator[Rule]:
        """The rules for a name on the target's versions, the one that counts most first."""
        if name.startswith("gin:"):
            yield from self._gin_rules(name.removeprefix("gin:"))
            return
        if name.startswith(_CONTRIB):
            living, cure = lint_contrib.advice(name)
            yield Rule(name, Verdict.TF1 if living else Verdict.CHANGE, cure)
            return
        rules = [rule for rule in self._table.about(name) if rule.reaches(self._target)]
        bare = name.removeprefix(_TF)
        if name.startswith(_TF) and not name.startswith(_TF1) and self._names.is_only_v1(bare):
            in_tf1 = (r for r in self._table.about(_TF1 + bare) if r.reaches(self._target))
            rules += [rule for rule in in_tf1 if rule.verdict is Verdict.CHANGE]
            yield from (rule for rule in rules if rule.verdict is Verdict.CHANGE)
            yield Rule(name, Verdict.TF1, f"a name of TF1; or write tf.compat.v1.{bare}")
        yield from rules

    def _gin_rules(self, name: str) -> Iterator[Rule]:
        bare = name.removeprefix(_TF)
        if name.startswith(_CONTRIB):
            yield from self._rules(name)
        elif self._names.is_only_v1(bare):
            rule = Rule(
                name,
                Verdict.BRIDGED,
                "gin.tf.external_configurables registers it again",
                "2.16",
            )
            if rule.reaches(self._target):
                yield rule

    def _other_arguments(self, use: Use) -> Rule | None:
        """The rule for a call of a function of tf with arguments that only TF1 takes."""
        if not use.called or not use.name.startswith(_TF) or use.name.startswith(_TF1):
            return None
        arguments = self._names.arguments.get(use.name.removeprefix(_TF))
        if arguments is None:
            return None
        wrong = sorted(arguments.removed & use.keywords.keys())
        if wrong:
            cure = f"only TF1 takes {', '.join(wrong)}"
        elif use.positional > arguments.positional:
            cure = "only TF1 takes so many arguments"
        else:
            return None
        bare = use.name.removeprefix(_TF)
        return Rule(use.name, Verdict.TF1, f"{cure}; or write tf.compat.v1.{bare}")


def _with_conflicts(findings: list[Finding], sources) -> list[Finding]:
    """Adds the names of TF2 in files that need --tf1, where `tf` has only those of TF1."""
    names = tf1_names.load()
    old = {finding.path for finding in findings if finding.verdict is Verdict.TF1}
    for source in sources:
        if source.path not in old:
            continue
        seen: set[tuple[str, int]] = set()
        for use in source.uses:
            bare = use.name.removeprefix(_TF)
            if (
                use.name.startswith(_TF)
                and not use.name.startswith((_TF1, _CONTRIB))
                and names.is_only_v2(bare)
                and (use.name, use.line) not in seen
            ):
                seen.add((use.name, use.line))
                findings.append(
                    Finding(
                        source.path,
                        use.line,
                        use.name,
                        "under --tf1, which this file needs",
                        Verdict.CHANGE,
                        f"TF1 has no such name: write tf.compat.v2.{bare}",
                    )
                )
    order = {source.path: number for number, source in enumerate(sources)}
    return sorted(findings, key=lambda f: (order[f.path], f.line, f.name))


def _shown(name: str, rule: Rule) -> str:
    if ".flags.FLAGS." in name:
        name = name[: name.index(".flags.FLAGS.") + len(".flags.FLAGS")]
    if rule.once and "{" not in rule.names:
        name = rule.names.removesuffix(".*")
    if name.startswith(METHOD):
        return name.removeprefix("?")
    return name.removeprefix(BUILTIN).removeprefix("gin:")
