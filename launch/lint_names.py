"""Reads Python source into the names that it uses, resolved through its imports and aliases.

Nothing is imported or run. A name is a dotted path from the root of a package, such as
`tf.compat.v1.layers.dense`, whatever the file calls it; strings, comments, local variables and
attributes of unknown objects are no names.
"""

import ast
import dataclasses
import functools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

# What is not reached through an import: a builtin, and a method of an object of unknown type.
BUILTIN, METHOD = "builtins.", "?."
# `x.shape[0].value` and `x.get_shape()[0].value`, where x is of unknown type.
DIMENSION_VALUE = METHOD + "shape[].value"

_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError"}
_NAME_ERRORS = {"AttributeError", "NameError", "TypeError"}
_VERSIONS = {"__version__", "VERSION", "version", "major"}
_COMPARE = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclasses.dataclass(frozen=True)
class Use:
    """One place where a name is used.

    Attributes:
      name: the dotted path, as `canonical` gives it.
      line: line in the file, from 1.
      positional: how many arguments are given by position, if it is called there.
      keywords: the arguments that are given by name.
      called: whether it is called there.
    """

    name: str
    line: int
    positional: int = 0
    keywords: Mapping[str, ast.expr] = dataclasses.field(default_factory=dict)
    called: bool = False


@functools.lru_cache(maxsize=100_000)
def canonical(path: str) -> str:
    """The shortest name for a path: `tf` for TensorFlow, whichever way a file went to it."""
    root, _, rest = path.partition(".")
    if root != "tensorflow" or rest.partition(".")[0] == "python":
        return path
    parts, world = rest.split(".") if rest else [], "tf"
    while parts[:2] in (["compat", "v1"], ["compat", "v2"]):
        world = "tf.compat.v1" if parts[1] == "v1" else "tf"
        parts = parts[2:]
    if parts[:1] == ["contrib"]:
        world = "tf"
    return ".".join([world, *parts])


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a module uses.

    Attributes:
      uses: the names, in the order of their lines.
      words: the keywords that its calls use, and its string constants.
    """

    uses: list[Use]
    words: frozenset[str]


def read(tree: ast.Module, broken: Callable[[Use], bool], loose: Collection[str] = ()) -> Reading:
    """Reads a module.

    Args:
      tree: the parsed module.
      broken: whether a use fails on today's versions; where the module has another way for that
        case (`except ImportError`, a test of the version), only the way that works counts.
      loose: the builtins and methods that matter, such as `builtins.unicode` and `?.has_key`.
    """
    reader = _Reader(broken, frozenset(loose))
    reader.read(tree)
    return Reading(sorted(reader.alive(), key=lambda use: use.line), frozenset(reader.words))


class _Scope(dict):
    """Name -> dotted path, or None for what is not known."""

    def __init__(self, is_class: bool = False):
        super().__init__()
        self.is_class = is_class


class _Reader(ast.NodeVisitor):
    def __init__(self, broken, loose):
        # Each use with the ways that lead to it: (choice, 0 or 1).
        self._found: list[tuple[Use, tuple[tuple[int, int], ...]]] = []
        self._ways: tuple[tuple[int, int], ...] = ()
        self.words: set[str] = set()
        # For each choice, whether its second way does anything.
        self._choices: list[bool] = []
        self._broken = broken
        self._loose = loose
        self._scopes: list[_Scope] = [_Scope()]
        self._later: list[Callable[[], None]] = []
        self._star = False
        # In one of several branches a new binding does not push out a better one.
        self._branches = 0

    def read(self, tree: ast.Module) -> None:
        self._bind_all(tree.body)
        self._visit_all(tree.body)
        # Functions run after the module that defines them, and see all of its names.
        while self._later:
            waiting, self._later = self._later, []
            for visit in waiting:
                visit()

    def alive(self) -> Iterator[Use]:
        """The uses without those on a way that is not gone on today's versions."""
        dead: set[tuple[int, int]] = set()
        failing = [ways for use, ways in self._found if ways and self._broken(use)]
        # Inner choices have higher numbers: they are made before the ones around them.
        for choice in reversed(range(len(self._choices))):
            first, second = (choice, 0), (choice, 1)
            alive = [ways for ways in failing if dead.isdisjoint(ways)]
            fails = any(first in ways for ways in alive)
            other_works = self._choices[choice] and not any(second in ways for ways in alive)
            # A first way without a second one was written for the versions where it works.
            dead.add(first if fails and (other_works or not self._choices[choice]) else second)
        return (use for use, ways in self._found if dead.isdisjoint(ways))

    # Bindings.

    def _bind_all(self, body: list[ast.stmt]) -> None:
        """Marks every name that `body` binds, so that no outer one is seen through it."""
        scope = self._scopes[-1]
        elsewhere: set[str] = set()
        for node in _own_nodes(body):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                scope.setdefault(node.id, None)
            elif isinstance(node, _NAMING) and node.name:
                scope.setdefault(node.name, None)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    scope.setdefault(alias.asname or alias.name.partition(".")[0], None)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                elsewhere.update(node.names)
        if len(self._scopes) > 1:
            for name in elsewhere:
                scope.pop(name, None)

    def _bind(self, name: str, path: str | None) -> None:
        scope = self._scopes[-1]
        before = scope.get(name)
        if self._branches and before and (path is None or before == "tensorflow.compat.v1"):
            return
        scope[name] = path

    def _lookup(self, name: str) -> tuple[bool, str | None]:
        """Whether the module binds `name`, and to what."""
        innermost = len(self._scopes) - 1
        for index in range(innermost, -1, -1):
            scope = self._scopes[index]
            if name in scope and not (scope.is_class and index != innermost):
                return True, scope[name]
        return False, None

    def _path(self, node: ast.AST) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        root = self._lookup(node.id)[1]
        return ".".join([root, *reversed(parts)]) if root else None

    # Statements that bind.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._use(alias.name, alias)
            if alias.asname:
                self._bind(alias.asname, alias.name)
            else:
                root = alias.name.partition(".")[0]
                self._bind(root, root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._star = True
                if not node.level:
                    self._use(node.module, node)
            elif node.level:
                self._bind(alias.asname or alias.name, None)
            else:
                path = f"{node.module}.{alias.name}"
                self._use(path, alias)
                self._bind(alias.asname or alias.name, path)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        path = self._path(node.value)
        for target in node.targets:
            self._assign(target, path)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self._assign(node.target, self._path(node.value))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target.id, self._path(node.value))

    def _assign(self, target: ast.expr, path: str | None) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, path)
        else:
            self.visit(target)

    # Scopes.

    def visit_FunctionDef(self, node) -> None:
        self._bind(node.name, None)
        for outside in (*node.decorator_list, node.returns):
            if outside is not None:
                self.visit(outside)
        self._function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def _function(self, node) -> None:
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        for outside in (*arguments.defaults, *arguments.kw_defaults):
            if outside is not None:
                self.visit(outside)
        for parameter in parameters:
            if parameter.annotation is not None:
                self.visit(parameter.annotation)
        scopes, ways = list(self._scopes), self._ways
        body = [node.body] if isinstance(node, ast.Lambda) else node.body

        def visit() -> None:
            self._branches, self._ways = 0, ways
            scope = _Scope()
            scope.update((p.arg, None) for p in parameters)
            self._scopes = [*scopes, scope]
            self._bind_all(body)
            self._visit_all(body)

        self._later.append(visit)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name, None)
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outside)
        self._scopes = [*self._scopes, _Scope(is_class=True)]
        self._bind_all(node.body)
        self._visit_all(node.body)
        self._scopes = self._scopes[:-1]

    def _comprehension(self, node) -> None:
        first = node.generators[0]
        self.visit(first.iter)
        scope = _Scope()
        for generator in node.generators:
            for target in ast.walk(generator.target):
                if isinstance(target, ast.Name):
                    scope[target.id] = None
        self._scopes = [*self._scopes, scope]
        for generator in node.generators:
            if generator is not first:
                self.visit(generator.iter)
            self._visit_all(generator.ifs)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        self._visit_all(parts)
        self._scopes = self._scopes[:-1]

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # Branches.

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        chosen = self._known(node.test)
        if chosen is not None:
            self._visit_all(node.body if chosen else node.orelse)
        elif self._asks_for_version(node.test):
            self._alternatives(node.body, node.orelse)
        else:
            self._branches += 1
            self._visit_all(node.body)
            self._visit_all(node.orelse)
            self._branches -= 1

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        chosen = self._known(node.test)
        if chosen is not None:
            self.visit(node.body if chosen else node.orelse)
        elif self._asks_for_version(node.test):
            self._alternatives([node.body], [node.orelse])
        else:
            self._visit_all([node.body, node.orelse])

    def visit_Try(self, node) -> None:
        self._visit_all(handler.type for handler in node.handlers if handler.type)
        caught = {name for handler in node.handlers for name in _caught(handler)}
        imports = all(isinstance(n, (ast.Import, ast.ImportFrom, ast.Pass)) for n in node.body)
        handled = [statement for handler in node.handlers for statement in handler.body]
        foreseen = caught & (_IMPORT_ERRORS | _NAME_ERRORS) or (imports and caught & {"Exception"})
        if foreseen and not any(isinstance(n, ast.Raise) for n in handled):
            self._alternatives([*node.body, *node.orelse], handled)
        else:
            self._branches += 1
            self._visit_all([*node.body, *handled, *node.orelse])
            self._branches -= 1
        self._visit_all(node.finalbody)

    visit_TryStar = visit_Try

    def _alternatives(self, first: list[ast.stmt], second: list[ast.stmt]) -> None:
        """Visits two ways of which one is gone, and keeps the bindings of that one."""
        choice = len(self._choices)
        self._choices.append(bool(second))
        scope, before, outer = self._scopes[-1], dict(self._scopes[-1]), self._ways
        start = len(self._found)
        self._ways = (*outer, (choice, 0))
        self._visit_all(first)
        fails = any(self._broken(use) for use, _ in self._found[start:])
        after_first = dict(scope)
        _refill(scope, before)
        self._ways = (*outer, (choice, 1))
        self._visit_all(second)
        after_second = dict(scope)
        self._ways = outer
        kept, other = (after_second, after_first) if fails else (after_first, after_second)
        if fails and not second:
            kept = before
        unbound = {name: path for name, path in other.items() if kept.get(name) is None}
        _refill(scope, kept if fails else {**kept, **unbound})

    def _asks_for_version(self, test: ast.expr) -> bool:
        """Whether a condition depends on the version of TensorFlow or on what it has."""
        for node in ast.walk(test):
            if isinstance(node, ast.Attribute):
                path = self._path(node) or ""
                if path.startswith("tensorflow.") and path.rpartition(".")[2] in _VERSIONS:
                    return True
        return False

    def _known(self, test: ast.expr) -> bool | None:
        """The value of a condition on Python's version or on `hasattr`, None if not known."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self._known(test.operand)
            return None if value is None else not value
        path = self._path(test)
        if path in ("six.PY2", "six.PY3", "six.PY34"):
            return path != "six.PY2"
        if path == "typing.TYPE_CHECKING":
            return False
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 2:
            owner, attribute = test.args
            root = self._path(owner)
            if test.func.id == "hasattr" and isinstance(attribute, ast.Constant):
                name = canonical(f"{root}.{attribute.value}") if root else f"?.{attribute.value}"
                return False if self._broken(Use(name, test.lineno)) else None
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._python_version(test)
        return None

    def _python_version(self, test: ast.Compare) -> bool | None:
        left = test.left
        if isinstance(left, ast.Subscript):
            if not (isinstance(left.slice, ast.Constant) and left.slice.value == 0):
                return None
            version, path = 3, self._path(left.value)
        elif isinstance(left, ast.Attribute) and left.attr == "major":
            version, path = 3, self._path(left.value)
        else:
            # Every supported Python is 3.10 or newer.
            version, path = (3, 10), self._path(left)
        compare = _COMPARE.get(type(test.ops[0]))
        if path != "sys.version_info" or compare is None:
            return None
        try:
            asked = ast.literal_eval(test.comparators[0])
            if isinstance(asked, tuple) and asked[:2] > (3, 10):
                return None
            return compare(version, asked)
        except (TypeError, ValueError):
            return None

    # Uses.

    def _use(self, name: str, node: ast.AST, call: ast.Call | None = None) -> None:
        name = canonical(name)
        if call is None:
            use = Use(name, node.lineno)
        else:
            keywords = {k.arg: k.value for k in call.keywords if k.arg}
            use = Use(name, node.lineno, len(call.args), keywords, called=True)
        self._found.append((use, self._ways))

    def visit_Call(self, node: ast.Call) -> None:
        path = self._path(node.func)
        if path is not None:
            self._use(path, node.func, node)
        elif not (isinstance(node.func, ast.Attribute) and self._method(node.func, node)):
            self.visit(node.func)
        self._visit_all(node.args)
        self._visit_all(node.keywords)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path is not None:
            if isinstance(node.ctx, ast.Load):
                self._use(path, node)
        elif not self._method(node):
            self.visit(node.value)

    def _method(self, node: ast.Attribute, call: ast.Call | None = None) -> bool:
        """Notes an attribute of an unknown object if it matters; what is before it is visited."""
        if node.attr == "value" and _is_dimension(node.value):
            name = DIMENSION_VALUE
        else:
            name = METHOD + node.attr
        if name not in self._loose:
            return False
        self._use(name, node, call)
        self.visit(node.value)
        return True

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        bound, path = self._lookup(node.id)
        if path is not None and "." in path:
            self._use(path, node)
        elif not bound and not self._star and BUILTIN + node.id in self._loose:
            self._use(BUILTIN + node.id, node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg:
            self.words.add(node.arg)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.words.add(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        # As the inherited one, but several times faster.
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    self._visit_all(value)
                else:
                    for item in value:
                        if isinstance(item, ast.AST):
                            self.visit(item)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        nodes = list(nodes)
        for number, node in enumerate(nodes):
            if (
                isinstance(node, ast.If)
                and not node.orelse
                and isinstance(node.body[-1], _ENDS)
                and self._asks_for_version(node.test)
            ):
                # What follows is the other way.
                self.visit(node.test)
                self._alternatives(node.body, nodes[number + 1 :])
                return
            self.visit(node)


def _refill(scope: dict, bindings: dict) -> None:
    scope.clear()
    scope.update(bindings)


def _own_nodes(body: list[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a body and what they bind, without the functions and classes in it."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.expr):
                    # Only a target binds; what a walrus binds is bound when it is visited.
                    if isinstance(getattr(child, "ctx", None), (ast.Store, ast.Del)):
                        waiting.append(child)
                elif isinstance(child, ast.AST):
                    waiting.append(child)


def _caught(handler: ast.ExceptHandler) -> Iterator[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    for kind in kinds:
        yield kind.id if isinstance(kind, ast.Name) else "Exception" if kind is None else ""


def _is_dimension(node: ast.expr) -> bool:
    if not isinstance(node, ast.Subscript):
        return False
    shape = node.value.func if isinstance(node.value, ast.Call) else node.value
    return isinstance(shape, ast.Attribute) and shape.attr in ("shape", "get_shape")
