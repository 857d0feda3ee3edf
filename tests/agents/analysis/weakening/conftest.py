"""Changes by table: what files were and what they are, as git would show it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from agents.analysis.weakening.find import find_weakening
from agents.analysis.weakening.settings_files import is_settings


def diff_of(before, after, renames=(), context=500):
    """Return the diff between two sets of files, as git writes it."""
    moved = {new: old for old, new in renames}
    parts = []
    for path in dict.fromkeys([*before, *after]):
        old = moved.get(path, path)
        was, now = before.get(old), after.get(path)
        if path in before and path not in after and path in moved.values():
            continue
        if was == now and old == path:
            continue
        parts.append(_file_diff(old, path, was, now, context))
    return "".join(parts)


def _file_diff(old, path, was, now, context):
    head = [f"diff --git a/{old} b/{path}"]
    if was is None:
        head.append("new file mode 100644")
    if now is None:
        head.append("deleted file mode 100644")
    if old != path:
        head += ["similarity index 90%", f"rename from {old}", f"rename to {path}"]
    head.append("index 1111111..2222222")
    lines = difflib.unified_diff(
        (was or "").splitlines(),
        (now or "").splitlines(),
        "/dev/null" if was is None else f"a/{old}",
        "/dev/null" if now is None else f"b/{path}",
        n=context,
        lineterm="",
    )
    return "".join(f"{line}\n" for line in [*head, *lines])


@dataclass
class EditCase:
    """One change, and what should be found in it."""

    name: str
    before: dict
    after: dict
    renames: tuple = ()
    kinds: tuple = ()
    """What is found, as its kind, with `?` behind it where nobody has to agree."""

    def findings(self):
        texts = {
            path: (self.before.get(path), self.after.get(path))
            for path in {**self.before, **self.after}
            if is_settings(path) and self.before.get(path) != self.after.get(path)
        }
        return find_weakening(diff_of(self.before, self.after, self.renames), texts)


def kinds_of(findings):
    """Return findings as the tables name them."""
    return sorted(each.kind if each.grave else f"{each.kind}?" for each in findings)
