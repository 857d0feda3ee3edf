"""The manual of `fettle scan` and `fettle remediate`."""

from __future__ import annotations

from collections.abc import Sequence

SCAN = """
Look at the open Dependabot alerts of a repository, and change nothing.

A repository is named like octo/lib, by its address, by a short name out of FETTLE_REPOSITORIES, or
by a clone of it; nothing means the clone you stand in. The App has to be installed there. Alerts of
one package in one folder belong together: each such group is a run that looks up every copy in the
lock file, the way on which it gets in, and whether the code imports what the advisory is about. No
model is asked, unless --assess says so.

A clone that is found, in the current folder, in FETTLE_CLONES, or where people keep clones, spares
the first download; nothing of what was only ever made there is looked at, and nothing in it is
changed or run. With --org or --user it is all repositories of that account, one after the other.
"""

REMEDIATE = """
Mend the open Dependabot alerts of a repository: each becomes a verified pull request, or a reason.

Repositories are named as for `fettle scan`. For each package of each folder: the smallest change
that gets every copy out of every vulnerable range, mostly without a model; then the repository's
own checks before and after, a look with fresh eyes where code alone does not prove enough, and a
pull request. Which severities, and how far a fix may go, the repository's .github/fettle.yml says.

If `fettle serve` is at work on this machine's database, it does the work, and Ctrl-C ends the
watching alone; else this command does it. Either way the report tells what was done until then.

In a clone, without an App, --from-scan FILE says what to mend: the result is a branch `bot/...` in
that clone, and nothing is asked of GitHub.
"""

_ENVIRONMENT = (
    ("FETTLE_REPOSITORIES", "short names of repositories, as JSON"),
    ("FETTLE_CLONES", 'folders with clones, or JSON: {"octo/lib": "/src/lib"}'),
    ("FETTLE_APP_ID and others", "all that `fettle serve` needs"),
)
_JSON = (
    ("format", "fettle-remediation/1; names stay while that does"),
    ("command, complete", "scan or remediate; false when it was stopped before its end"),
    ("repositories", "list of {repository, commit, error, skipped, groups}"),
    ("groups", "{ecosystem, package, directory, alerts, severity, result, text, report, level,"),
    ("", "made_by, moved, url, branch, run, tokens, usd, found}"),
    ("totals", "{repositories, groups, alerts, results, errors, tokens, usd}"),
)
_CODES = (
    ("2", "a person has to act: a setting, a mistake in the command, a decision that a run waits"),
    ("", "for (`fettle approvals`)"),
    ("3", "nothing to do: no open alert that is meant, no vulnerable copy, others are at it"),
)
_FAILURES = (
    ("4", "fix failed: for at least one group there is no way, and none for which 5 or 6 is true"),
    ("5", "verify failed: a fix was made, and did not stand; nothing of it was published"),
    ("6", "infrastructure error: GitHub, an index, a tool, a limit; it may work another time"),
)
_WORST = ("", "Of several the worst counts: 6, 5, 4, 2, then 0; 3 only where all of it is 3.")
_STOPPED = ("130", "stopped by Ctrl-C, after a report of what was done")

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "scan": {
        "Examples": (
            ("fettle scan octo/lib", "its open alerts"),
            ("fettle scan", "those of the clone you stand in"),
            (
                "fettle scan octo/lib --severity all --assess",
                "all of them; a model judges the rest",
            ),
            (
                "fettle scan octo/lib --format json > scan.json",
                "for `fettle remediate --from-scan`",
            ),
            ("fettle scan --org octo --format markdown > report.md", "of all repositories"),
        ),
        "Environment": _ENVIRONMENT,
        "The JSON object": _JSON,
        "Exit codes": (
            ("0", "scanned, and at least one group of alerts is worth a fix"),
            *_CODES,
            ("6", "infrastructure error: GitHub, a limit; it may work another time"),
            _WORST,
            _STOPPED,
        ),
    },
    "remediate": {
        "Examples": (
            ("fettle remediate octo/lib", "what its policy wants mended"),
            ("fettle remediate octo/lib --alert 5 --no-pr", "make and check it, publish nothing"),
            ("fettle remediate lib --severity critical,high", "with a short name"),
            ("fettle remediate octo/lib --from-scan scan.json", "what was found before"),
            ("fettle remediate . --from-scan scan.json", "in a clone, also without an App"),
            ("fettle remediate --org octo --format json | jq .totals", "all repositories"),
        ),
        "Environment": (
            *_ENVIRONMENT,
            ("FETTLE_RUN_BUDGET_USD", "dollars that each run may spend at most"),
        ),
        "The JSON object": _JSON,
        "Exit codes": (
            ("0", "fixed: every group that was to be mended has a fix that stands"),
            *_CODES,
            *_FAILURES,
            _WORST,
            _STOPPED,
        ),
    },
}
