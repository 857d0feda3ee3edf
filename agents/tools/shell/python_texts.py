"""Step 8: which texts an expression of Python may stand for, told without running it."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable
from itertools import product

from agents.tools.shell.options import named
from agents.tools.shell.variables import HOME, UNKNOWN

MOST_TEXTS = 8
_DEEPEST = 12
_SCRATCH = f"/tmp/{UNKNOWN}"  # noqa: S108 the sandbox's own

_SAME = named(
    "pathlib.Path Path pathlib.PurePath PurePath pathlib.PosixPath str os.fspath os.path.abspath"
    " os.path.normpath os.path.realpath os.path.expanduser os.fsdecode shlex.quote"
)
_SAME_METHODS = named("resolve absolute expanduser as_posix strip rstrip lstrip")
_WHOLE = frozenset(("sorted", "list", "set", "tuple", "reversed", "iter"))
_FIELD = re.compile(r"\{[^{}]*\}|%[-+ #0]*\d*(?:\.\d+)?[a-z]")


class Texts:
    """What the names and expressions of one piece of Python may stand for.

    Every value that a name is ever given counts, whatever the order.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._modules: dict[str, str] = {}
        self._given: dict[str, list[ast.expr]] = {}
        self._each: dict[str, list[ast.expr]] = {}
        for part in ast.walk(tree):
            if isinstance(part, ast.Import | ast.ImportFrom):
                self._import(part)
            else:
                self._note(part)

    def _import(self, part: ast.Import | ast.ImportFrom) -> None:
        start = f"{part.module}." if isinstance(part, ast.ImportFrom) else ""
        for each in part.names:
            self._modules[each.asname or each.name] = start + each.name

    def _note(self, part: ast.AST) -> None:
        match part:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=ast.expr() as target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._assign(target, value)
            case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                self._assign(target, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                first = target.elts[0] if isinstance(target, ast.Tuple) else target
                if isinstance(first, ast.Name):
                    self._each.setdefault(first.id, []).append(value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._given.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                self._assign(one, other)

    @property
    def modules(self) -> Iterable[str]:
        """Return what is imported, dotted."""
        return self._modules.values()

    def dotted(self, part: ast.expr, depth: int = 0) -> str:
        """Return the full name of a function or a module, as far as it can be told."""
        match part:
            case ast.Name(id=name) if name in self._modules:
                return self._modules[name]
            case ast.Name(id=name):
                others = self._given.get(name, [])
                alias = others[0] if len(others) == 1 and depth < _DEEPEST else None
                is_name = isinstance(alias, ast.Attribute | ast.Name)
                return self.dotted(alias, depth + 1) if alias is not None and is_name else name
            case ast.Attribute(value=value, attr=attr):
                return f"{self.dotted(value, depth + 1)}.{attr}"
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr))]):
                return f"{self.dotted(value, depth + 1)}.{attr}"
            case ast.Call(func=func, args=[ast.Constant(value=str(name))]) if self.dotted(
                func, depth + 1
            ) in ("__import__", "importlib.import_module"):
                return name
            case _:
                return ""

    def of(self, part: ast.expr, depth: int = 0) -> list[str]:
        """Return the texts that an expression may stand for, paths included."""
        found = self._of(part, depth + 1) if depth < _DEEPEST else [UNKNOWN]
        return list(dict.fromkeys(found))[:MOST_TEXTS] or [UNKNOWN]

    def _of(self, part: ast.expr, depth: int) -> list[str]:
        match part:
            case ast.Constant(value=str() | bytes() as text):
                return [text if isinstance(text, str) else text.decode("utf-8", "replace")]
            case ast.Name(id=name):
                texts = [
                    text for each in self._given.get(name, []) for text in self.of(each, depth)
                ]
                loops = self._each.get(name, [])
                return texts + [text for each in loops for text in self.elements(each, depth)]
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(part, value, attr, depth)
            case ast.Call():
                return self._called(part, depth) or self._method(part, depth)
            case ast.NamedExpr(value=value) | ast.FormattedValue(value=value):
                return self.of(value, depth)
            case _:
                return self._compound(part, depth)

    def _compound(self, part: ast.expr, depth: int) -> list[str]:
        match part:
            case ast.JoinedStr(values=parts):
                return self._product("".join, parts, depth)
            case ast.IfExp(body=first, orelse=last) | ast.BoolOp(values=[first, *_, last]):
                return self.of(first, depth) + self.of(last, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._product("".join, [left, right], depth)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._product(_joined, [left, right], depth)
            case ast.BinOp(left=left, op=ast.Mod()):
                return [_FIELD.sub(UNKNOWN, text) for text in self.of(left, depth)]
            case _:
                return [UNKNOWN]

    def _attribute(self, part: ast.expr, value: ast.expr, attr: str, depth: int) -> list[str]:
        if self.dotted(part) == "sys.executable":
            return ["python3"]
        if attr == "parent":
            return [posixpath.dirname(text) or "." for text in self.of(value, depth)]
        if attr == "path" or (attr == "name" and _SCRATCH in self.of(value, depth)):
            return self.of(value, depth)
        return [UNKNOWN]

    def _called(self, call: ast.Call, depth: int) -> list[str]:
        name = self.dotted(call.func)
        last = name.rpartition(".")[2]
        if name.startswith("tempfile.") or last in ("mkdtemp", "mkstemp"):
            return [_SCRATCH]
        if name in ("os.getcwd", "pathlib.Path.cwd") or (name in _SAME and not call.args):
            return ["."]
        if name == "pathlib.Path.home":
            return [HOME]
        if name in _SAME or name == "os.path.join":
            return self._product(_joined, call.args, depth)
        if name == "os.path.dirname" and call.args:
            return [posixpath.dirname(text) or "." for text in self.of(call.args[0], depth)]
        return []

    def _method(self, call: ast.Call, depth: int) -> list[str]:
        if not isinstance(call.func, ast.Attribute):
            return [UNKNOWN]
        receiver, method = call.func.value, call.func.attr
        if method in _SAME_METHODS:
            return self.of(receiver, depth)
        if method == "joinpath":
            return self._product(_joined, [receiver, *call.args], depth)
        if method == "format":
            return [_FIELD.sub(UNKNOWN, text) for text in self.of(receiver, depth)]
        return [UNKNOWN]

    def _product(
        self, join: Callable[[tuple[str, ...]], str], parts: Iterable[ast.expr], depth: int
    ) -> list[str]:
        choices = product(*(self.of(part, depth) for part in parts))
        return [join(choice) for choice, _ in zip(choices, range(MOST_TEXTS), strict=False)]

    def elements(self, part: ast.expr, depth: int = 0) -> list[str]:
        """Return the texts that the members of an expression may stand for."""
        if depth > _DEEPEST:
            return [UNKNOWN]
        match part:
            case ast.List(elts=members) | ast.Tuple(elts=members) | ast.Set(elts=members):
                return [text for each in members for text in self.of(each, depth)]
            case ast.Name(id=name):
                given = self._given.get(name, [])
                return [text for each in given for text in self.elements(each, depth + 1)]
            case ast.Call(func=func, args=[*args]):
                return self._members(func, args, depth + 1)
            case _:
                return [UNKNOWN]

    def _members(self, func: ast.expr, args: list[ast.expr], depth: int) -> list[str]:
        name = self.dotted(func)
        if args and name in _WHOLE:
            return self.elements(args[0], depth)
        if args and name in ("glob.glob", "glob.iglob"):
            return self.of(args[0], depth)
        if name in ("os.walk", "os.scandir"):
            starts = self.of(args[0], depth) if args else ["."]
            return [f"{start}/{UNKNOWN}" for start in starts]
        if isinstance(func, ast.Attribute) and func.attr in ("glob", "rglob", "iterdir"):
            patterns = self.of(args[0], depth) if args else [UNKNOWN]
            within = f"{UNKNOWN}/" if func.attr == "rglob" else ""
            starts = self.of(func.value, depth)
            return [f"{start}/{within}{pattern}" for start in starts for pattern in patterns]
        return [UNKNOWN]

    def words(self, part: ast.expr, depth: int = 0) -> tuple[str, ...] | None:
        """Return the members of a list that is written out, None for anything else."""
        match part:
            case ast.List(elts=members) | ast.Tuple(elts=members):
                return tuple(self.of(each)[0] for each in members)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if depth < _DEEPEST:
                first, rest = self.words(left, depth + 1), self.words(right, depth + 1)
                return None if first is None else first + (rest or (UNKNOWN,))
            case ast.Name(id=name) if depth < _DEEPEST:
                lists = (self.words(each, depth + 1) for each in self._given.get(name, []))
                return next((words for words in lists if words is not None), None)
            case ast.Call(func=ast.Attribute(value=value, attr="split"), args=[]):
                return tuple(self.of(value)[0].split())
            case _:
                return None


def _joined(parts: tuple[str, ...]) -> str:
    """Return a path of these parts, `~` in front expanded."""
    path = posixpath.join(*parts) if parts else "."
    return HOME + path[1:] if path == "~" or path.startswith("~/") else path
