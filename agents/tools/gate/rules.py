"""The gate's built-in rules, as data: what each decides, and what is said about it.

Which tier a rule has follows from one question: would a person's yes change anything?

| what the call wants                       | tier  | because                                      |
| ----------------------------------------- | ----- | -------------------------------------------- |
| anything that the sandbox simply holds    | allow | programs that nobody knows: builds and tests |
| code of other languages, written out      | allow | the sandbox holds it, as it holds a file's   |
| code that comes decoded or by a pipe      | deny  | no record shows what ran; a file would       |
| to delete files that it names one by one  | allow | the diff shows each                          |
| to delete build output, in scratch places | allow | it is made again                             |
| to delete more than that                  | ask   | work can be lost that no commit holds        |
| to rewrite history, to drop changes       | ask   | the same                                     |
| a new dependency                          | ask   | its authors' code will run; with a yes this  |
|                                           |       | one command may read from package indexes    |
| a dependency that the repository names    | allow | its owners chose it; no script of it runs    |
| what was granted with the run's plan      | allow | people said yes to it once, for this run     |
| a change to a protected path              | ask   | with a yes the run may commit that very path |
| the same, of the workflows or the policy  | deny  | the App may not push the first; what a run   |
|                                           |       | may do is not for a run to change            |
| the network, from a command               | deny  | there is none: a yes would help nobody       |
| to publish, to push, to use `gh`          | deny  | no credentials are inside; Fettle does it    |
| privileges, devices, secrets, fork bombs  | deny  | no repository's work needs them              |
| a program that cannot be told beforehand  | deny  | the model can write its name out             |
| a page of a host that is not listed       | ask   | the whole address is shown                   |
| to have another server act                | ask   | what it does cannot be seen from here        |

A deny tells the model what to do instead; an ask tells people what they would say yes to. In a
stage that only reads, what would be an ask for a change is refused: there a yes is of no use.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

GateDecision = Literal["allow", "ask", "deny"]


@dataclass(frozen=True)
class BuiltIn:
    """One rule: its tier, and the words that go with it; `{what}` is what the call is about."""

    decision: GateDecision
    words: str
    changes: bool = False
    """It is about changes to the work tree, which a stage that only reads cannot make."""


def _ask(words: str, *, changes: bool = True) -> BuiltIn:
    return BuiltIn("ask", words, changes)


def _deny(words: str) -> BuiltIn:
    return BuiltIn("deny", words)


RULES: Mapping[str, BuiltIn] = {
    "default": BuiltIn("allow", "Nothing speaks against it."),
    "stage/read-only": _deny(
        "This stage only reads. Say in your submission what should be changed."
    ),
    # --- paths
    "path/characters": _deny("The path {what} holds invisible characters."),
    "path/outside": _deny(
        "{what} is outside the repository. Use a path relative to the repository's root; for"
        " scratch files use bash and /tmp within one command."
    ),
    "path/git": _deny("{what} belongs to git. Use git commands in bash instead."),
    "path/protected": _ask(
        "It changes {what}, which the repository's policy protects: approved, this run may commit"
        " that change."
    ),
    "path/protected-unnamed": _deny(
        "{what} takes in files that the repository's policy protects. Name each file exactly, so"
        " that a person can approve just that."
    ),
    "path/never": _deny(
        "The repository's policy protects {what}, and no approval can lift that: only people change"
        " it. Solve it without, or say in your submission what a person should change there."
    ),
    # --- deleting, history
    "delete/outside-build": _ask("It deletes {what}, which is more than build output."),
    "delete/system": _deny("{what} is not yours to delete. Delete within the repository or /tmp."),
    "git/rewrites": _ask("`{what}` rewrites history: commits can get lost."),
    "git/discards": _ask("`{what}` throws away changes that no commit holds."),
    "git/push": _deny(
        "`{what}` would send commits out. Fettle pushes what this run commits, by itself: just"
        " leave the files as they should be."
    ),
    # --- what comes in, what goes out
    "dependency/new": _ask(
        "`{what}` brings in a new dependency, or another version of one. Approved, this one command"
        " may read from the package indexes of this machine, and from nowhere else; what it"
        " installs stays with this run. To name a dependency in a manifest takes no approval."
    ),
    "dependency/known": BuiltIn(
        "allow", "The default branch names the packages of `{what}`, or they run its tests."
    ),
    "grant/plan": BuiltIn(
        "allow", "People granted {what} to this run together with its plan, and nothing else."
    ),
    "dependency/refused": _deny(
        "`{what}` brings in a new dependency, or another version of one, and the repository's"
        " policy wants none of them asked for (`approvals.dependencies`). Go on without it, and say"
        " in your submission what it would have been for."
    ),
    "dependency/system": _deny(
        "`{what}` would install system packages, which nobody can here. Work with what is there,"
        " or say in your submission what is missing."
    ),
    "network/none": _deny(
        "`{what}` needs the network, and commands have none. To read a page use webfetch, for"
        " issues and checks of this repository gh; dependencies are installed before you begin."
        " Write loopback addresses out: http://127.0.0.1:8000."
    ),
    "network/submodules": _deny(
        "`{what}` would fetch submodules, and commands have no network. Work with the files that"
        " are there: what set-up could fetch is in place. If a submodule is empty, say in your"
        " submission that it is missing."
    ),
    "publish/package": _deny("`{what}` publishes. People do that, with a release of their own."),
    "publish/github": _deny(
        "`{what}` needs GitHub's credentials, which are not in here. To read, use the tool gh;"
        " Fettle itself opens the pull request and comments."
    ),
    "web/unlisted": _ask(
        "It reads {what}, and the repository's policy does not list that host under `web`.",
        changes=False,
    ),
    "web/carries": _ask(
        "It reads {what}. The host is listed, but the address could carry something out, and"
        " people who may not write to this repository have a say in this run.",
        changes=False,
    ),
    "mcp/unlisted": _deny("The repository's policy does not give this stage the tool {what}."),
    "mcp/acts": _ask("{what} of another server does not say that it only reads.", changes=False),
    "mcp/carries": _ask(
        "{what} hands its arguments to another server, and people who may not write to this"
        " repository have a say in this run.",
        changes=False,
    ),
    # --- the machine
    "privilege/raise": _deny("`{what}` is about privileges, and there are none to be had here."),
    "machine/device": _deny("`{what}` would write to a device of the machine."),
    "machine/power": _deny("`{what}` is about the machine, not about the repository."),
    "machine/fork-bomb": _deny("The script starts copies of itself without end."),
    "secrets/files": _deny("{what} is where programs keep credentials. There are none for you."),
    "secrets/environment": _deny(
        "`{what}` shows a whole environment. Name the variable: `printenv PATH`."
    ),
    # --- what cannot be told
    "shell/unclear": _deny(
        "Which program `{what}` runs is known only when it runs. Write the program's name out."
    ),
    "shell/piped": _deny(
        "What `{what}` would run is not written out: it comes decoded, or from another program."
        " Write the commands out, or put them into a file that you then run."
    ),
    "shell/unreadable": _deny(
        "The script is too long or too nested to be read before it runs. Split it, or put it into"
        " a file that you then run."
    ),
}


@dataclass(frozen=True)
class Finding:
    """One thing that speaks against a call."""

    rule: str
    what: str = ""
    """What it is about, for the rule's words."""
    paths: tuple[str, ...] = ()
    """Protected paths that the call would change."""

    @property
    def built_in(self) -> BuiltIn:
        """Return the rule."""
        return RULES[self.rule]

    @property
    def reason(self) -> str:
        """Return the rule's words about this."""
        return self.built_in.words.replace("{what}", self.what)


@cache
def source_lines() -> Mapping[str, int]:
    """Return the line of this file at which each rule stands."""
    table = ast.parse(Path(__file__).read_text("utf-8"))
    keys = (part for part in ast.walk(table) if isinstance(part, ast.Dict))
    return {
        key.value: key.lineno
        for part in keys
        for key in part.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value in RULES
    }
