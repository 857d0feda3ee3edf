"""Draw a pipeline function as a Mermaid flowchart, from its syntax tree.

`python -m agents.pipelines.flowchart` brings the charts in this folder's README up to date.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from pathlib import Path

from agents.pipelines.replay import ATTEMPTED, awaited_call, find_faults

README = "README.md"
SHARED = "agents.pipelines.stages.pipeline"
COMMAND = "python -m agents.pipelines.flowchart"
BEGIN = f"<!-- charts: written by `{COMMAND}` -->"
END = "<!-- end of charts -->"

TEXT = "…"
STAGE, PART, ANSWER, QUESTION, LOOP = "[…]", "[[…]]", "[/…/]", "{…}", "{{…}}"


class NotReplayable(ValueError):
    """A pipeline does what a replay could not repeat; the text names every line and a remedy."""


@dataclass(frozen=True)
class Pipeline:
    """A pipeline as its source shows it."""

    path: Path
    function: ast.AsyncFunctionDef
    siblings: frozenset[str] = frozenset()
    """Functions of this file, and those it has from `stages`: parts with charts of their own."""

    @property
    def title(self) -> str:
        """Return the first line of its docstring."""
        return (ast.get_docstring(self.function) or "").partition("\n")[0]


def find_pipelines(folder: Path) -> list[Pipeline]:
    """Return every public `async def` of the `*/pipeline.py` below the folder, by path."""
    found: list[Pipeline] = []
    for path in sorted(folder.glob("*/pipeline.py")):
        body = ast.parse(path.read_text("utf-8")).body
        functions = [
            each
            for each in body
            if isinstance(each, ast.AsyncFunctionDef) and not each.name.startswith("_")
        ]
        siblings = frozenset(each.name for each in functions) | _find_shared_imports(body)
        found += [Pipeline(path, each, siblings) for each in functions]
    return found


def _find_shared_imports(body: list[ast.stmt]) -> frozenset[str]:
    imports = (each for each in body if isinstance(each, ast.ImportFrom) and each.module == SHARED)
    return frozenset(alias.name for each in imports for alias in each.names)


def draw(pipeline: Pipeline) -> str:
    """Return the Mermaid text of the pipeline; NotReplayable if it does more than it may."""
    found = find_faults(pipeline.function, pipeline.siblings)
    if found:
        lines = [f"{pipeline.path}:{fault.line}: {fault.text}" for fault in found]
        raise NotReplayable("\n".join(lines))
    return _Drawing().draw(pipeline.function)


def with_charts(readme: str, folder: Path) -> str:
    """Return the README's text with the charts of the folder's pipelines, as they are now."""
    sections = [
        f"### {each.function.name}\n\n{each.title}\n\n```mermaid\n{draw(each)}\n```"
        for each in find_pipelines(folder)
    ]
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2].strip()
    parts = [before.strip(), BEGIN, *sections, END, after]
    return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True)
class _Loose:
    """An arrow that has left a box and has not yet arrived anywhere."""

    start: str
    label: str = ""


@dataclass
class _Loop:
    """The loop around the statements being drawn."""

    head: str
    left: list[_Loose] = field(default_factory=list)


class _Drawing:
    """Draws statement by statement: loose arrows go in, loose arrows come out."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.boxes = 0
        self.loops: list[_Loop] = []
        self.choices: dict[str, ast.IfExp] = {}

    def draw(self, function: ast.AsyncFunctionDef) -> str:
        """Return the chart from the request to the outcome."""
        asked = function.args.args[1].annotation if len(function.args.args) > 1 else None
        self.lines = ["flowchart TD", f"    start([{_quote(asked, function.name)}])"]
        loose = self._statements(function.body, [_Loose("start")])
        self.lines.append(f"    finish([{_quote(function.returns, 'end')}])")
        self._join(loose, "finish")
        return "\n".join(self.lines)

    def _statements(self, body: list[ast.stmt], loose: list[_Loose]) -> list[_Loose]:
        for statement in body:
            if not loose:
                break  # nothing arrives here: what follows a return is never run
            loose = self._statement(statement, loose)
        return loose

    def _statement(self, statement: ast.stmt, loose: list[_Loose]) -> list[_Loose]:
        match statement:
            case ast.If():
                loose = self._branch(statement, loose)
            case ast.While() | ast.For():
                loose = self._loop(statement, loose)
            case ast.Break():
                self.loops[-1].left += loose
                loose = []
            case ast.Continue():
                self._join(loose, self.loops[-1].head)
                loose = []
            case ast.Return(value=value):
                self._join(self._value(value, loose), "finish")
                loose = []
            case ast.Expr(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value):
                self._remember(statement)
                loose = self._value(value, loose)
        return loose

    def _remember(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp() as choice):
                self.choices[name] = choice
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.choices.pop(name, None)

    def _value(self, value: ast.expr | None, loose: list[_Loose]) -> list[_Loose]:
        call = awaited_call(value)
        if call is None:
            return loose
        if isinstance(call.func, ast.Name):
            return [_Loose(self._box(PART, call.func.id, loose))]
        if isinstance(call.func, ast.Attribute) and call.func.attr == ATTEMPTED:
            return [_Loose(self._box(PART, ast.unparse(call.args[0]), loose))]
        waits = isinstance(call.func, ast.Attribute) and call.func.attr == "answer"
        return self._stage(call.args[0], loose, ANSWER if waits else STAGE)

    def _stage(self, chosen: ast.expr, loose: list[_Loose], shape: str) -> list[_Loose]:
        if isinstance(chosen, ast.Name) and chosen.id in self.choices:
            chosen = self.choices[chosen.id]
        if not isinstance(chosen, ast.IfExp):
            return [_Loose(self._box(shape, ast.unparse(chosen), loose))]
        yes, no = self._decision(chosen.test, loose)
        return [*self._stage(chosen.body, [yes], shape), *self._stage(chosen.orelse, [no], shape)]

    def _branch(self, statement: ast.If, loose: list[_Loose]) -> list[_Loose]:
        yes, no = self._decision(statement.test, loose)
        return [
            *self._statements(statement.body, [yes]),
            *self._statements(statement.orelse, [no]),
        ]

    def _loop(self, loop: ast.While | ast.For, loose: list[_Loose]) -> list[_Loose]:
        if isinstance(loop, ast.While):
            again, over = self._decision(loop.test, loose)
        else:
            head = self._box(LOOP, _repetition(loop), loose)
            again, over = _Loose(head, "next"), _Loose(head, "done")
        self.loops.append(_Loop(again.start))
        self._join(self._statements(loop.body, [again]), again.start)
        return [over, *self.loops.pop().left]

    def _decision(self, condition: ast.expr, loose: list[_Loose]) -> tuple[_Loose, _Loose]:
        """Draw the question; return the arrows for a true and for a false condition."""
        labels = ("yes", "no")
        while isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
            condition, labels = condition.operand, (labels[1], labels[0])
        box = self._box(QUESTION, f"{ast.unparse(condition)}?", loose)
        return _Loose(box, labels[0]), _Loose(box, labels[1])

    def _box(self, shape: str, text: str, loose: list[_Loose]) -> str:
        self.boxes += 1
        name = f"s{self.boxes}"
        self.lines.append(f"    {name}{shape.replace(TEXT, _quote(text))}")
        self._join(loose, name)
        return name

    def _join(self, loose: list[_Loose], end: str) -> None:
        for arrow in loose:
            label = f"|{arrow.label}|" if arrow.label else ""
            self.lines.append(f"    {arrow.start} -->{label} {end}")


def _repetition(loop: ast.For) -> str:
    """Return the loop's head for people: `each step of plan.steps`, `3 times at most`."""
    values, names = loop.iter, ast.unparse(loop.target)
    match values:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            leaves = any(isinstance(part, ast.Break | ast.Return) for part in ast.walk(loop))
            return f"{ast.unparse(count)} times{' at most' if leaves else ''}"
        case ast.Call(func=ast.Name(id="enumerate"), args=[counted, *_]):
            values = counted
            if isinstance(loop.target, ast.Tuple):
                names = ast.unparse(loop.target.elts[-1])
    return f"each {names} of {ast.unparse(values)}"


def _quote(text: ast.expr | str | None, otherwise: str = "") -> str:
    """Return the text as a Mermaid string; its own marks become entities."""
    words = ast.unparse(text) if isinstance(text, ast.expr) else text or otherwise
    for mark, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        words = words.replace(mark, entity)
    return f'"{words}"'


def main() -> int:
    """Refresh the charts in the README beside this file; return the exit code."""
    readme = Path(__file__).parent / README
    old = readme.read_text("utf-8") if readme.exists() else "# Pipelines\n"
    try:
        new = with_charts(old, readme.parent)
    except NotReplayable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if new != old or not readme.exists():
        readme.write_text(new, "utf-8")
    sys.stdout.write(f"{readme}: {'written' if new != old else 'up to date'}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
