"""The manual of `fettle eval`."""

from __future__ import annotations

from collections.abc import Sequence

EVAL = """
Try how well runs do on cases whose right answer is known: real bugs, with hidden tests.

Each case becomes a fresh repository, and `fettle resolve` works on it like on any other. Then the
tests of the version in which the bug was cured judge the branch, in the sandbox: those that failed
before must pass, and whatever passed before must go on passing. No run ever sees them, and tests,
or settings of tests, that a run changed do not count.

With `--script` nothing is spent; the costs shown are what the same tokens of the model would cost.

DIR is a case or a folder of cases; without it, the three that Fettle ships with. A case is a small
folder: the README among the shipped ones tells how to add your own.
"""

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "eval": {
        "Examples": (
            ("fettle eval --script", "the shipped cases with the local model: free, a minute"),
            ("fettle eval ~/cases --case parse --repeat 3", "three attempts with the real model"),
            ("fettle eval --jobs 2 --yes --json | jq '.total'", "use it in a script"),
        ),
        "Environment": (
            ("ANTHROPIC_API_KEY", "key for the Messages API; not needed with --script"),
            (
                "ANTHROPIC_BASE_URL",
                "another server that speaks the Messages API; then no key is needed",
            ),
            ("FETTLE_MODEL, FETTLE_RUN_BUDGET_USD", "as for every run; the budget is per attempt"),
            ("FETTLE_DATA_DIR", "where packages are kept, and each attempt's files for a day"),
        ),
        "The JSON object": (
            ("model", "the model's name, or `script`"),
            (
                "results",
                """list of {case, attempt, state (solved, not solved, broken), why, outcome, text,
                branch, draft, stages, failed_stage, failing_checks, denied, tests, lost, usd,
                turns, tokens, cache_read_share, seconds, kept}""",
            ),
            (
                "total",
                "{attempts, solved, broken, drafts, usd, turns, seconds, tokens, cache_read_share}",
            ),
        ),
        "Exit codes": (
            ("0", "every attempt solved its case"),
            ("1", "some did not"),
            ("2", "a case could not be tried or judged here; the table says why"),
            ("130", "stopped by Ctrl-C"),
        ),
    },
}
