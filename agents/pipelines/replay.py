"""The operations a pipeline function may use, so that a restarted run takes the same path.

The engine replays a pipeline from its start and hands it the remembered results of its stages.
That is right only if everything between two stages depends on those results alone: no clock, no
chance, no files, no network. This file reads the function's syntax tree and names what is more.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

Value = ast.expr | None

PURE = frozenset({
    "all", "any", "bool", "enumerate", "isinstance", "len", "list", "max", "min", "range",
    "reversed", "sorted", "sum", "tuple", "zip",
})  # fmt: skip
AWAITED = frozenset({"stage", "answer"})
ATTEMPTED = "attempt"
"""How a part of the pipeline is awaited that may fail without ending the run."""
RUN_VALUES = frozenset({"id", "request", "base", "head", "unchanged"})

STATEMENTS = (
    ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr, ast.For, ast.If,
    ast.Pass, ast.Return, ast.While,
)  # fmt: skip
EXPRESSIONS = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict,
    ast.FormattedValue, ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.List, ast.ListComp,
    ast.Name, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp,
)  # fmt: skip

REMEDIES: dict[type[ast.AST], str] = {
    ast.Assert: "return an outcome, or raise RunError in a stage",
    ast.AsyncFor: "await whole stages only, with run.stage(...)",
    ast.AsyncFunctionDef: "make it a stage in a file of its own",
    ast.AsyncWith: "open and close inside one stage",
    ast.Await: "await only run.stage(...), and give its result a name on a line of its own",
    ast.ClassDef: "move it to a file of its own",
    ast.FunctionDef: "make it a stage in a file of its own",
    ast.Lambda: "make it a property of the stage's result",
    ast.Match: "write it as if and elif",
    ast.NamedExpr: "assign on a line of its own",
    ast.Raise: "return an outcome, or raise RunError in a stage",
    ast.Set: "a set has no fixed order: use a tuple",
    ast.SetComp: "a set has no fixed order: use a list",
    ast.Try: "put it into a part of its own, and await run.attempt(part, ...)",
    ast.With: "open and close inside one stage",
}


@dataclass(frozen=True)
class Fault:
    """One place that a replay could pass differently, and what to do about it."""

    line: int
    text: str


def find_faults(
    function: ast.AsyncFunctionDef, siblings: Collection[str] = frozenset()
) -> list[Fault]:
    """Return everything in the pipeline function that would not replay, in reading order.

    `siblings`: names of the functions of its file, which are held to the same.
    """
    if not function.args.args:
        return [Fault(function.lineno, "a pipeline takes the run as its first parameter")]
    return sorted(set(_Reader(function, siblings).read()), key=lambda fault: fault.line)


def awaited_call(value: Value) -> ast.Call | None:
    """Return the call in `await call(...)`, or None for anything else."""
    if isinstance(value, ast.Await) and isinstance(value.value, ast.Call):
        return value.value
    return None


def stage_names(chosen: ast.expr) -> Iterator[ast.Name]:
    """Yield the names in `a` or in `a if condition else b`: the stages it can stand for."""
    if isinstance(chosen, ast.IfExp):
        yield from stage_names(chosen.body)
        yield from stage_names(chosen.orelse)
    elif isinstance(chosen, ast.Name):
        yield chosen


class _Reader:
    """Reads one function. What it knows: the run's name, local names, where stages are named."""

    def __init__(self, function: ast.AsyncFunctionDef, siblings: Collection[str]) -> None:
        self.siblings = siblings
        self.body = function.body
        self.run = function.args.args[0].arg
        arguments = function.args
        self.locals = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)} | {
            part.id
            for part in ast.walk(function)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        self.made = set(_list_made_names(function))
        self.stages = {id(name) for chosen in _choices(function) for name in stage_names(chosen)}

    def read(self) -> Iterator[Fault]:
        yield from self._statements(self.body)

    def _statements(self, body: Iterable[ast.stmt]) -> Iterator[Fault]:
        for statement in body:
            if isinstance(statement, STATEMENTS):
                yield from self._statement(statement)
            else:
                yield _refusal(statement)

    def _statement(self, statement: ast.stmt) -> Iterator[Fault]:
        match statement:
            case ast.If(test=condition) | ast.While(test=condition):
                yield from self._expression(condition)
            case ast.For(target=target, iter=values):
                yield from self._target(target)
                yield from self._expression(values)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from self._target(target)
                yield from self._value(value)
            case (
                ast.AnnAssign(target=target, value=value)
                | ast.AugAssign(target=target, value=value)
            ):
                yield from self._target(target)
                yield from self._value(value)
            case ast.Expr(value=value) | ast.Return(value=value):
                yield from self._value(value)
        yield from self._inner(statement)

    def _inner(self, statement: ast.stmt) -> Iterator[Fault]:
        if isinstance(statement, ast.For | ast.While) and statement.orelse:
            yield Fault(statement.orelse[0].lineno, "`else` of a loop: write an `if` after it")
        if isinstance(statement, ast.If | ast.For | ast.While):
            yield from self._statements([*statement.body, *statement.orelse])

    def _target(self, target: ast.expr) -> Iterator[Fault]:
        if isinstance(target, ast.Tuple):
            for part in target.elts:
                yield from self._target(part)
        elif not isinstance(target, ast.Name):
            text = "only stages change what a run remembers: return a new value from the stage"
            yield Fault(target.lineno, f"`{ast.unparse(target)} = …`: {text}")

    def _value(self, value: Value) -> Iterator[Fault]:
        call = awaited_call(value)
        if call is None:
            if value is not None:
                yield from self._expression(value)
            return
        if not (self._is_stage(call) or self._is_attempt(call) or self._is_sibling(call)):
            yield Fault(call.lineno, f"`await {ast.unparse(call.func)}`: {REMEDIES[ast.Await]}")
            return
        handed = call.args[self._is_sibling(call) :]  # the run itself goes on to a sibling
        for argument in (*handed, *(keyword.value for keyword in call.keywords)):
            yield from self._expression(argument)

    def _is_stage(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=ast.Name(id=root), attr=name):
                return root == self.run and name in AWAITED and bool(call.args)
        return False

    def _is_attempt(self, call: ast.Call) -> bool:
        """Tell a part of the same pipeline that is attempted."""
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=root), attr=name), args=[ast.Name(id=part), *_]
            ):
                return root == self.run and name == ATTEMPTED and part in self.siblings
        return False

    def _is_sibling(self, call: ast.Call) -> bool:
        """Tell a part of the same pipeline: a function of its file that is handed the run."""
        match call:
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=first), *_]):
                return name in self.siblings and first == self.run
        return False

    def _expression(self, part: ast.AST) -> Iterator[Fault]:
        match part:
            case ast.expr() if not isinstance(part, EXPRESSIONS):
                yield _refusal(part)
                return
            case ast.Name() | ast.Attribute(value=ast.Name()):
                yield from self._name(part)
                return
            case ast.Call() if not self._is_pure(part):
                text = "may give another answer when the run goes on: call it inside a stage"
                yield Fault(part.lineno, f"`{ast.unparse(part.func)}()` {text}")
                return
            case ast.comprehension(is_async=1):
                yield Fault(part.target.lineno, f"`async for`: {REMEDIES[ast.AsyncFor]}")
        for inner in ast.iter_child_nodes(part):
            yield from self._expression(inner)

    def _is_pure(self, call: ast.Call) -> bool:
        """Tell a built-in that only computes, or a method of a value at hand, from the rest."""
        root = call.func
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return True
        if root is call.func:  # a class of values, by its capital, only holds what it is given
            return root.id in PURE or root.id[0].isupper()
        return root.id != self.run and root.id in (self.locals | PURE) - self.made

    def _name(self, part: ast.Name | ast.Attribute) -> Iterator[Fault]:
        """Judge a name as it stands: alone, or with the attribute that is read from it."""
        root = part.value if isinstance(part, ast.Attribute) else part
        if not isinstance(root, ast.Name) or id(root) in self.stages:
            return
        what = ast.unparse(part)
        if root.id == self.run:
            if what not in {f"{self.run}.{value}" for value in RUN_VALUES}:
                text = "is not remembered: let a stage return what is needed"
                yield Fault(part.lineno, f"`{what}` {text}")
        elif not (root.id in self.locals | PURE or root.id[0].isupper()):
            text = "is neither a result of a stage nor a constant: read it inside a stage"
            yield Fault(part.lineno, f"`{what}` {text}")


def _choices(function: ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """Yield the expressions that choose a stage: first arguments, and `x = a if c else b`."""
    for part in ast.walk(function):
        call = awaited_call(part) if isinstance(part, ast.expr) else None
        if call is not None and call.args:
            yield call.args[0]
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.IfExp):
            yield part.value


def _list_made_names(function: ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the names of values that the function itself makes: a `Path` it may only hold."""
    for part in ast.walk(function):
        match part:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker)))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id=maker)))
            ) if maker not in PURE:
                yield name


def _refusal(part: ast.stmt | ast.expr) -> Fault:
    first = ast.unparse(part).splitlines()[0]
    remedy = REMEDIES.get(type(part), "a pipeline is made of stages, if, for and while only")
    return Fault(part.lineno, f"`{first}`: {remedy}")
