"""Matches a call against the repository's own rules: `ask` and `deny` of its policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Literal

from agents.policy import Policy, Rule, matches_path
from agents.tools.base import Effect, Tool
from agents.tools.shell.changes import changes
from agents.tools.shell.command import Command
from agents.tools.shell.network import list_hosts
from agents.tools.shell.places import relative_path
from agents.tools.shell.script import read
from agents.tools.shell.variables import UNKNOWN

MOST_FORMS = 32  # of one command, by which words count as options' values
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
LONGEST = 4_000  # characters of one command that a pattern is held against


@dataclass(frozen=True)
class Act:
    """One thing that a call does: a rule matches when one of them has all that it names."""

    tool: str
    commands: tuple[str, ...] = ()
    """One simple command: as it is written, with its program's bare name, without its options."""
    paths: tuple[str, ...] = ()
    """Files that it would change."""
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Word:
    """What the owners say to a call, by which of their rules."""

    decision: Literal["ask", "deny"]
    number: int
    """Its place among those of its kind, from 1."""
    rule: Rule

    @property
    def id(self) -> str:
        """Return the rule's id."""
        return f"policy/{self.decision}/{self.number}"

    @property
    def reason(self) -> str:
        """Return what they say of it."""
        return self.rule.reason or f"The repository's policy says so ({_describe_rule(self.rule)})."


def owners_word(policy: Policy, call: Tool) -> Word | None:
    """Return what the repository's policy says to the call: a deny before any ask."""
    if not (policy.deny or policy.ask):
        return None
    acts = list(_acts(call))
    kinds: tuple[Literal["deny", "ask"], ...] = ("deny", "ask")
    for decision in kinds:
        for number, rule in enumerate(getattr(policy, decision), 1):
            if any(_matches(rule, act) for act in acts):
                return Word(decision, number, rule)
    return None


def _describe_rule(rule: Rule) -> str:
    fields = rule.model_dump(exclude_none=True, exclude={"reason"})
    return ", ".join(f"{key} `{value}`" for key, value in fields.items())


def _acts(call: Tool) -> Iterator[Act]:
    changed = call.paths() if call.effect is Effect.WRITE else ()
    yield Act(call.name, paths=changed, hosts=call.hosts())
    if (script := call.script()) is not None:
        yield from (_act(call.name, command) for command in read(script).commands)


def _act(tool: str, command: Command) -> Act:
    texts = (
        command.text,
        *(" ".join((command.name, *rest)) for rest in _list_forms(command.words[1:])),
    )
    places = (relative_path(command.place(change.path)) for change in changes(command))
    return Act(
        tool,
        commands=tuple(dict.fromkeys(text[:LONGEST] for text in texts)),
        paths=tuple(path for path in places if path is not None),
        hosts=tuple(list_hosts(command)),
    )


def _list_forms(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the arguments as they are, and without options and variables.

    What follows an option may be its value or not: with `make -C a deploy`, each is tried.
    """
    yield words
    kept: list[tuple[str, ...]] = [()]
    for at, word in enumerate(words):
        if word == "--":
            kept = [(*before, *words[at + 1 :]) for before in kept]
            break
        if word[:1] == "-" or _VARIABLE.match(word):
            continue
        longer = [(*before, word) for before in kept]
        may_be_value = at > 0 and words[at - 1][:1] == "-" and "=" not in words[at - 1]
        kept = [*longer, *kept] if may_be_value and len(kept) < MOST_FORMS else longer
    yield from kept


def _matches(rule: Rule, act: Act) -> bool:
    return (
        (rule.tool is None or fnmatchcase(act.tool, rule.tool))
        and (rule.command is None or any(may_match(rule.command, c) for c in act.commands))
        and (rule.path is None or any(matches_path(rule.path, path) for path in act.paths))
        and (rule.host is None or any(may_match(rule.host.lower(), host) for host in act.hosts))
    )


def may_match(pattern: str, text: str) -> bool:
    """Return whether the text matches, or may once its unknown parts are known."""
    if UNKNOWN not in text:
        return fnmatchcase(text, pattern)
    signs = _signs(pattern)
    reached = _pass_stars({0}, signs)
    for char in text:
        if char == UNKNOWN:  # it may be any text, so any part of the pattern may fit it
            reached = set(range(min(reached), len(signs) + 1)) if reached else set()
            continue
        after = {
            at if sign == "*" else at + 1
            for at in reached
            if at < len(signs) and ((sign := signs[at]) == "*" or re.match(sign, char, re.DOTALL))
        }
        reached = _pass_stars(after, signs)
    return len(signs) in reached


def _pass_stars(reached: set[int], signs: Sequence[str]) -> set[int]:
    """Return these places of the pattern, and those after stars that may stand for nothing."""
    for at in sorted(reached):
        here = at
        while here < len(signs) and signs[here] == "*":
            here += 1
            reached.add(here)
    return reached


@lru_cache(maxsize=256)
def _signs(pattern: str) -> tuple[str, ...]:
    """Return the pattern's parts: `*`, or an expression for one character."""
    parts = re.findall(r"\*|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL)
    return tuple(part if part == "*" else translate(part) for part in parts)
