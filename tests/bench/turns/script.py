"""What the model of the bench `turns` says: the repair of the flows, drawn out by many calls."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import yaml

from app.simulator.model import Script

FLOWS = Path(__file__).parents[2] / "flows"
LONG_STAGE = "# Implement"  # how the first line of its prompt begins
LEDGER = "ledger.py"
ENTRIES, READ_LINES = 400, 60
KINDS = ("read", "edit", "bash")

ScriptCall = dict[str, dict[str, Any]]


def repository_files() -> dict[str, str]:
    """Return the repository of the flows with one more file, long enough to be read in parts."""
    module = ast.parse((FLOWS / "conftest.py").read_text("utf-8"))
    entries = (f"ENTRY_{n:03} = {n * 7}  # what was owed on day {n:03}\n" for n in range(ENTRIES))
    return _constant(module, "CALC") | {LEDGER: "".join(entries)}


def issue_text() -> tuple[str, str]:
    """Return title and body of the issue."""
    title, body = _constant(ast.parse((FLOWS / "conftest.py").read_text("utf-8")), "ISSUE")
    return title, body


def fettle_script(turns: int) -> Script:
    """Return the script of the flows, its first step of work drawn out by so many turns."""
    parts = yaml.safe_load((FLOWS / "calc.yml").read_text("utf-8"))
    long = next((part for part in parts if _begins(part["when"], LONG_STAGE)), None)
    if long is None:
        raise SystemExit(f"{FLOWS / 'calc.yml'} has no part for a prompt with {LONG_STAGE!r}")
    long["turns"][:0] = [_turn(_fettle_call(n)) for n in range(turns)]
    return Script.model_validate(parts)


def claude_script(turns: int, folder: Path) -> Script:
    """Return the same work in the tools of `claude`, for files that lie in this folder."""
    tests = (FLOWS / "calc.yml").read_text("utf-8")
    said = [_turn(_claude_call(n, folder)) for n in range(turns)]
    calc, new = str(folder / "calc.py"), "return a + b"
    if "a + b" not in tests:
        raise SystemExit(f"{FLOWS / 'calc.yml'} is about something else now")
    said += [
        _turn({"Read": {"file_path": calc}}),
        _turn({"Bash": {"command": "python3 -B -c 'import calc; print(calc.add(1, 1))'"}}),
        _turn({"Edit": {"file_path": calc, "old_string": f"{new} + 1", "new_string": new}}),
        _turn({"Bash": {"command": "python3 -B -m unittest -q 2>&1 | tail -1"}}),
        {"say": "`add()` added one too many; it does not any more, and the tests pass."},
    ]
    return Script.model_validate([{"when": issue_text()[0], "turns": said}])


def kind_of(number: int) -> str:
    """Return which tool the turn of this number calls."""
    return KINDS[number % len(KINDS)]


def _turn(call: ScriptCall) -> dict[str, Any]:
    return {"think": "One entry after the other.", "say": "I go on.", "call": [call]}


def _fettle_call(number: int) -> ScriptCall:
    offset, old, new, command = _matter(number)
    if kind_of(number) == "read":
        return {"read": {"path": LEDGER, "offset": offset, "limit": READ_LINES}}
    if kind_of(number) == "edit":
        return {"edit": {"path": LEDGER, "old": old, "new": new}}
    return {"bash": {"command": command}}


def _claude_call(number: int, folder: Path) -> ScriptCall:
    offset, old, new, command = _matter(number)
    ledger = str(folder / LEDGER)
    if kind_of(number) == "read":
        return {"Read": {"file_path": ledger, "offset": offset, "limit": READ_LINES}}
    if kind_of(number) == "edit":
        return {"Edit": {"file_path": ledger, "old_string": old, "new_string": new}}
    return {"Bash": {"command": command}}


def _matter(number: int) -> tuple[int, str, str, str]:
    """Return what differs from turn to turn: no two calls are alike, as with real work."""
    entry = f"ENTRY_{number:03} = {number * 7} "
    offset = 1 + number * 5
    return (
        offset,
        entry,
        f"{entry}+ 1 ",
        f"wc -l {LEDGER} && sed -n {offset},{offset + 9}p {LEDGER}",
    )


def _begins(when: Any, line: str) -> bool:
    return str(when["regex"] if isinstance(when, dict) else when).lstrip("^").startswith(line)


def _constant(module: ast.Module, name: str) -> Any:
    """Return what the flows assign to this name; importing them would take pytest."""
    for part in module.body:
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == name:
            return ast.literal_eval(part.value)
    raise SystemExit(f"{FLOWS / 'conftest.py'} has no {name}")
