"""Add rules and commands to the text of a policy file; all else stays as its owners wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import yaml

from agents.policy.document import pairs, read_document
from agents.policy.parse import examine
from agents.policy.policy import Policy
from agents.policy.sections import Rule


def add_to_policy(
    data: bytes, denied: Sequence[Rule], *, refuse_dependencies: bool = False
) -> bytes | None:
    """Return the file with these rules under `deny`, and `approvals.dependencies` as asked.

    None where that cannot be done by adding to the text: the file is not valid, or the result
    would say anything else besides.
    """
    before = examine(data)
    if not isinstance(before, Policy):
        return None
    text = data.decode("utf-8")
    for rule in denied:
        text = _add_to_list(text, "deny", _write_rule(rule)) or ""
    if refuse_dependencies:
        text = _set_key(text, "approvals", "dependencies", "refuse") or ""
    made = text.encode("utf-8")
    approvals = before.approvals
    if refuse_dependencies:
        approvals = approvals.model_copy(update={"dependencies": "refuse"})
    wanted = before.model_copy(update={"deny": (), "approvals": approvals})
    after = examine(made)
    if not isinstance(after, Policy) or after.model_copy(update={"deny": ()}) != wanted:
        return None
    return made if _is_more(after.deny, before.deny, denied) else None


def add_setup(data: bytes, commands: Sequence[str]) -> bytes | None:
    """Return the file with these commands as `setup.run`; None where it says that already.

    None also where that cannot be done by adding to the text, as with rules.
    """
    before = examine(data)
    if not isinstance(before, Policy) or before.setup.run is not None:
        return None
    made = (
        _set_key(data.decode("utf-8"), "setup", "run", json.dumps(list(commands))) or ""
    ).encode()
    setup = before.setup.model_copy(update={"run": tuple(commands)})
    wanted = before.model_copy(update={"setup": setup})
    return made if examine(made) == wanted else None


def _is_more(after: Sequence[Rule], before: Sequence[Rule], added: Sequence[Rule]) -> bool:
    """Return whether the rules are those before and the added ones, in whatever order."""

    def name(rules: Sequence[Rule]) -> list[str]:
        return sorted(rule.model_dump_json() for rule in rules)

    return name(after) == name([*before, *added])


def _write_rule(rule: Rule) -> str:
    fields = rule.model_dump(exclude_none=True, exclude_defaults=True)
    return "{" + ", ".join(f"{name}: {json.dumps(text)}" for name, text in fields.items()) + "}"


def _add_to_list(text: str, key: str, entry: str) -> str | None:
    """Return the text with the entry at the beginning of the list under this key of the root."""
    root = read_document(text.encode()).root
    found = _find(root, key)
    if found is None:
        return _add_key(text, root, f"{key}: [{entry}]")
    return _insert(text, found, entry) if isinstance(found, yaml.SequenceNode) else None


def _set_key(text: str, section: str, key: str, word: str) -> str | None:
    """Return the text with the key of the section set to this word."""
    root = read_document(text.encode()).root
    found = _find(root, section)
    if found is None:
        return _add_key(text, root, f"{section}: {{{key}: {word}}}")
    if not isinstance(found, yaml.MappingNode):
        return None
    standing = _find(found, key)
    if standing is None:
        return _insert(text, found, f"{key}: {word}")
    return text[: standing.start_mark.index] + word + text[standing.end_mark.index :]


def _find(root: yaml.MappingNode | None, key: str) -> yaml.Node | None:
    found = pairs(root) if root is not None else ()
    return next((value for name, value in found if name.value == key), None)


def _add_key(text: str, root: yaml.MappingNode | None, line: str) -> str:
    """Return the text with one more key in the root: in a line of its own, where it has lines."""
    if root is not None and root.flow_style:
        return _insert(text, root, line)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{end}{line}\n"


def _insert(text: str, node: yaml.CollectionNode, entry: str) -> str:
    """Return the text with the entry before the first one of the list or mapping."""
    at = node.start_mark.index
    if node.flow_style:
        between = ", " if node.value else ""
        return f"{text[: at + 1]}{entry}{between}{text[at + 1 :]}"
    dash = "- " if isinstance(node, yaml.SequenceNode) else ""
    return f"{text[:at]}{dash}{entry}\n{' ' * node.start_mark.column}{text[at:]}"
