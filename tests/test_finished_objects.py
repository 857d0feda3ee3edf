"""A finished object is changed by its own methods alone; nobody else sets its attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.source_files import Definition, parse_product
from tests.test_architecture import assert_none

STATEFUL = ("app/simulator/",)  # the state of a GitHub that never was: changes change it
FILLED = {  # records that a module fills in for their owner: module, attributes, why
    "agents/analysis/weakening/test_cases.py": ({"lines"}, "a case grows while lines are read"),
    "agents/pipelines/address/suggestions/neighbours.py": (
        {"start"},
        "a group grows while lines are read",
    ),
    "agents/pipelines/flowchart.py": ({"left"}, "a loop is drawn while it is read"),
    "agents/tools/shell/script.py": ({"here"}, "`cd` moves the folder that is read along"),
    "agents/text/inline.py": (
        {"content"},
        "tokens of a parsed text change before they are rendered",
    ),
    "agents/analysis/test_runners/go.py": (
        {"ran", "ended"},
        "a package's result grows while its events are read",
    ),
    "app/observability/logging.py": (
        {"handlers"},
        "the standard library's loggers have no other way",
    ),
    "app/cli/progress.py": (
        {"ended", "how", "summary", "text"},
        "lines on the terminal change while they are shown",
    ),
    "app/config/load.py": ({"env_vars"}, "pydantic's own source, of which a part is left out"),
    "app/dependencies/cache_entry.py": ({"scratch", "size"}, "what is left is added up"),
    "app/dependencies/index_proxy.py": (
        {"host", "port", "answered"},
        "a log entry is filled in",
    ),
    "app/dependencies/indexes/operator_config.py": ({"tag"}, "a parsed tree loses its namespaces"),
    "app/github/reviews/summaries.py": (
        {"left_out", "newest_remark", "newest_at", "from_outsiders", "by_outsiders"},
        "what is found is added up",
    ),
    "app/github/reviews/threads.py": (
        {"left_out", "resolved", "from_outsiders", "by_outsiders"},
        "what is found is added up",
    ),
    "app/maintenance/backup.py": (
        {"mode", "uid", "gid", "uname", "gname"},
        "tarfile has a filter set them",
    ),
    "app/runs/engine.py": (
        {"deserialize", "_BACKGROUND_JOBS_INTERVAL_SEC"},
        "DBOS has no setting for its pickle, and none for looks that nothing needs",
    ),
}


def made_in(function: Definition) -> set[str]:
    """Names that the function gives to what a call of it returns: what it makes, it may fill in."""
    made = set()
    for part in ast.walk(function):
        match part:
            case ast.Assign(targets=targets, value=value):
                named = targets
            case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target, value):
                named = [target]
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                named = [target]
            case _:
                continue
        for target in named:
            made |= {*list_made(target, value)}
    return made


def list_made(target: ast.expr, value: ast.expr | None) -> Iterator[str]:
    """Yield the names of a target that get what a call returns."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            yield from list_made(one, its)
    elif is_construction(value.value if isinstance(value, ast.Await) else value):
        stored = (each for each in ast.walk(target) if isinstance(each, ast.Name))
        yield from (each.id for each in stored if isinstance(each.ctx, ast.Store))


def is_construction(value: ast.expr | None) -> bool:
    """Tell whether a class is called, or a method of one: getters hand out what is others'."""
    if not isinstance(value, ast.Call):
        return False
    called = [part.id for part in ast.walk(value.func) if isinstance(part, ast.Name)]
    called += [part.attr for part in ast.walk(value.func) if isinstance(part, ast.Attribute)]
    return any(name in ("cls", "shlex") or name.lstrip("_")[:1].isupper() for name in called)


def set_from_outside(function: Definition) -> Iterator[tuple[int, str, str]]:
    """Attributes that the function sets of what it was handed, or finds inside something else."""
    made = made_in(function) | {"self", "cls"}
    for part in ast.walk(function):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            owner = part.value
            if not (isinstance(owner, ast.Name) and owner.id in made):
                yield part.lineno, part.attr, ast.unparse(part)


def test_a_finished_object_is_changed_by_its_own_methods_only():
    found, filled = [], set()
    for path, module in parse_product():
        if path.startswith(STATEFUL):
            continue
        allowed, _ = FILLED.get(path, (set(), ""))
        for function in (part for part in ast.walk(module) if isinstance(part, Definition)):
            for line, attribute, text in set_from_outside(function):
                filled.add((path, attribute))
                if attribute not in allowed:
                    found.append(f"{path}:{line} {text}")
    assert_none(
        found, "an attribute set from outside: hand it to the constructor, or call a method"
    )
    listed = {(path, attribute) for path, (names, _) in FILLED.items() for attribute in names}
    assert listed <= filled, f"no longer filled in from outside: {sorted(listed - filled)}"


def test_setting_from_outside_is_seen():
    text = "def f(a, b):\n    c, g = Made(), a.get()\n    g.t = 0\n    c.x = 1"
    text += "\n    a.y = 2\n    b.c.z += 3\n    self.w = 4"
    text += "\n    for d in a:\n        d.v = 5\n    e = a\n    e.u = 6"
    [function] = ast.parse(text).body
    assert [text for _, _, text in set_from_outside(function)] == [
        "g.t",
        "a.y",
        "b.c.z",
        "e.u",
        "d.v",
    ]
