"""Finds the files of a project that `genever lint` can read, and reads the names in them."""

import ast
import dataclasses
import io
import json
import os
import re
import sys
import tokenize
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator

from . import lint_names
from .lint_names import Use, canonical

SUFFIXES = (".py", ".gin", ".ipynb")
_SKIPPED = {"build", "dist", "node_modules", "venv", "env", "site-packages", "__pycache__"}

# What Python says of the ways of Python 2.
_PYTHON_2 = re.compile(
    r"Missing parentheses in call to|multiple exception types must be parenthesized|"
    r"leading zeros in decimal|inconsistent use of tabs|invalid decimal literal"
)
_PYTHON_2_LINE = re.compile(
    r"^\s*(print\s+[^(=\s]|print\s*>>|exec\s+['\"\w]|raise\s+\w+\s*,|except\s+[\w.]+\s*,\s*\w+\s*:)"
    r"|\bur['\"]|<>|`|\b0\d+\b|\d[lL]\b"
)


@dataclasses.dataclass(frozen=True)
class Source:
    """A file, or a cell of a notebook, that was read.

    Attributes:
      path: the file's path, for a cell with its number, as in "a.ipynb#cell2".
      uses: the names in it.
      words: the keywords that its calls use, and its string constants.
      unreadable: why it could not be read, and the line where; None if it could.
    """

    path: str
    uses: list[Use] = dataclasses.field(default_factory=list)
    words: frozenset[str] = frozenset()
    unreadable: tuple[int, str] | None = None


def files(paths: Iterable[str]) -> list[str]:
    """The readable files among `paths` and in the folders of `paths`, in order.

    Raises:
      ValueError: a path does not exist, or is a file of another kind.
    """
    found: dict[str, None] = {}
    for path in paths:
        if os.path.isdir(path):
            found.update(dict.fromkeys(_walk(path)))
        elif not os.path.exists(path):
            raise ValueError(f"{path} does not exist: give a file or folder of your project.")
        elif path.endswith(SUFFIXES):
            found[path] = None
        else:
            raise ValueError(f"{path} is no {', '.join(SUFFIXES)} file: lint reads only these.")
    return list(found)


def _walk(folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not name.endswith(".egg-info")
            and not os.path.exists(os.path.join(here, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield os.path.normpath(os.path.join(here, name))


def read(path: str, broken: Callable[[Use], bool], loose: Collection[str]) -> Iterator[Source]:
    """Reads one file; arguments as for `lint_names.read`. A damaged file is a Source too."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        yield Source(path, unreadable=(1, f"cannot be read ({error.strerror})"))
        return
    if path.endswith(".ipynb"):
        yield from _notebook(path, content, broken, loose)
    elif path.endswith(".gin"):
        yield _gin(path, content)
    else:
        yield _python(path, content, broken, loose)


def _python(path: str, code: bytes | str, broken, loose) -> Source:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
        reading = lint_names.read(tree, broken, loose)
    except SyntaxError as error:
        return Source(path, unreadable=(error.lineno or 1, _why(error, code)))
    except (ValueError, RecursionError, MemoryError) as error:
        return Source(path, unreadable=(1, f"Python cannot read it ({error})"))
    return Source(path, reading.uses, reading.words)


def _why(error: SyntaxError, code: bytes | str) -> str:
    reason = error.msg.split(". Did you mean")[0]
    lines = code.splitlines()
    line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    if _PYTHON_2.search(reason) or _PYTHON_2_LINE.search(text):
        return f"Python 2 ({reason}): convert it to Python 3"
    return f"not Python {sys.version_info[0]}.{sys.version_info[1]} ({reason})"


def _notebook(path: str, content: bytes, broken, loose) -> Iterator[Source]:
    try:
        cells = json.loads(content)["cells"]
        codes = ["".join(cell["source"]) if cell["cell_type"] == "code" else None for cell in cells]
    except (ValueError, KeyError, TypeError) as error:
        yield Source(path, unreadable=(1, f"no notebook of format 4 ({error!r})"))
        return
    # Cells see the names of the cells before them: they are read as one program, and told apart
    # by their lines.
    starts, lines = [], []
    for number, code in enumerate(codes, 1):
        if code is not None:
            starts.append((len(lines), number))
            lines += [_without_magic(line) for line in code.splitlines()] or [""]
    whole = _python(path, "\n".join(lines), broken, loose)

    def place(line: int) -> tuple[str, int]:
        start, number = max((s for s in starts if s[0] < line), default=(0, 1))
        return f"{path}#cell{number}", line - start

    if whole.unreadable:
        where, line = place(whole.unreadable[0])
        yield Source(where, unreadable=(line, whole.unreadable[1]))
        return
    by_cell: dict[str, list[Use]] = {}
    for use in whole.uses:
        where, line = place(use.line)
        by_cell.setdefault(where, []).append(dataclasses.replace(use, line=line))
    for where, found in by_cell.items():
        yield Source(where, found, whole.words)


def _without_magic(line: str) -> str:
    bare = line.lstrip()
    return line[: len(line) - len(bare)] + "pass" if bare[:1] in ("%", "!", "?") else line


def _gin(path: str, content: bytes) -> Source:
    try:
        found = list(_gin_uses(content.decode("utf-8")))
    except (UnicodeDecodeError, tokenize.TokenError, SyntaxError) as error:
        return Source(path, unreadable=(1, f"no gin file ({error})"))
    return Source(path, found)


def _gin_uses(text: str) -> Iterator[Use]:
    imported: dict[str, str] = {}
    for line in _dotted_lines(text):
        words = [word for word, _ in line]
        at = line[0][1]
        if words[0] == "import":
            path = words[1] if len(words) > 1 else ""
            if "as" in words[2:3]:
                imported[words[3]] = path
            else:
                root = path.partition(".")[0]
                imported[root] = root
            yield Use(canonical(path), at)
        elif words[0] == "from" and "import" in words[2:3]:
            path = f"{words[1]}.{words[3]}"
            imported[words[-1]] = path
            yield Use(canonical(path), at)
        else:
            for word, number in line:
                root, dot, rest = word.partition(".")
                if dot and root in imported:
                    yield Use(canonical(f"{imported[root]}.{rest}"), number)
                elif dot and root == "tf":
                    yield Use(f"gin:{word}", number)


def _dotted_lines(text: str) -> Iterator[list[tuple[str, int]]]:
    """The dotted names of each statement, with their lines; no strings and no comments."""
    line: list[tuple[str, int]] = []
    joined = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            if joined and line:
                line[-1] = (f"{line[-1][0]}.{token.string}", line[-1][1])
            else:
                line.append((token.string, token.start[0]))
            joined = False
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if line:
                yield line
            line = []
            joined = False
        else:
            joined = token.string == "."
