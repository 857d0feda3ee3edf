"""The manual of `fettle address` and `fettle update`."""

from __future__ import annotations

from collections.abc import Sequence

ADDRESS = """
Do what reviews of a pull request ask for, and answer each of their threads: with progress live.

A pull request is named like octo/lib#31, by its address, or by a repository and a number, where a
short name out of FETTLE_REPOSITORIES will do. No label is needed: whoever has the App's key may
ask. The work is what a submitted review starts: read every thread that nobody has resolved, make
the changes, commit, run the repository's own checks before and after, push to the pull request's
own branch, answer in each thread. What people without write access say there is left out.

Who does the work, and what Ctrl-C ends, is as for `fettle resolve`.
"""

UPDATE = """
Merge its base branch into a pull request, and see that it still works: with progress live.

Conflicts are resolved, the repository's own checks are run before and after, and the merge is
pushed to the pull request's own branch; what would be worse than before is not. A pull request is
named, and followed, as `fettle address --help` has it.
"""

_ENVIRONMENT = (("", "what `fettle serve --help` lists; the same as for the server"),)
_JSON = (
    ("id, repository, number, ...", "as in `fettle runs show`, without stages"),
    ("waits_for, url", "when it waits: ids of approvals, or an answer; and where to answer"),
)
_STOPPED = ("130", "stopped by Ctrl-C; if a server does the work, it goes on")
_FAILED = ("1", "failed, or cancelled; what was committed until then is on a branch")
_PERSON = ("2", "a person has to act: a question, a setting, a mistake in the command")

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "address": {
        "Examples": (
            ("fettle address octo/lib#31", "a pull request on GitHub"),
            ("fettle address https://github.com/octo/lib/pull/31", "the same"),
            ("fettle address lib 31 --json | jq -r .outcome.text", "use it in a script"),
        ),
        "Environment": _ENVIRONMENT,
        "The JSON object": _JSON,
        "Exit codes": (
            ("0", "done: every thread has its answer, and what was changed is pushed"),
            _FAILED,
            _PERSON,
            _STOPPED,
        ),
    },
    "update": {
        "Examples": (
            ("fettle update octo/lib#31", "a pull request on GitHub"),
            ("fettle update lib 31", 'the same, with FETTLE_REPOSITORIES=\'{"lib": "octo/lib"}\''),
        ),
        "Environment": _ENVIRONMENT,
        "The JSON object": _JSON,
        "Exit codes": (
            ("0", "done: it stands on its base branch as that is now, or did already"),
            _FAILED,
            _PERSON,
            _STOPPED,
        ),
    },
}
