"""The manual of `fettle runs`."""

from __future__ import annotations

from collections.abc import Sequence

RUNS = """
List runs, the newest first: where each stands, what it spent, how it ended.

Those of the server are listed, also while it runs, and those of `fettle resolve` on clones that
are under way, wait, or failed; one that went well leaves its branch and nothing else. Nothing is
changed by looking.
"""

SHOW = """
Show one run: every stage with its time and cost, what it asked people, how it ended.

ID is what `fettle runs` shows, or any beginning of the run's id that no other run shares. Texts of
issues, models and tools are shown, never obeyed: secrets are taken out, and characters that nobody
can see are written as escapes.

With --turns comes the conversation with the model, long texts cut, and what each turn changed in
the files. That is taken from the mirror of the repository, for as long as git keeps it there.
"""

CANCEL = """
End a run of the server: between two calls of its tools, and a command at work is stopped at once.

What it has committed until then is kept on a branch, and its comment on the issue says who ended
it. It does not matter which process works on the run. Waits a little to tell what became of it.
"""

RETRY = """
Do a run once more that has ended, on its issue or pull request as that is now.

With --from, all is kept that the run did before that stage: its commits, what the model and people
said, what the checks showed; nothing of it is paid twice. Where that is not here any more, all is
done anew, and the run says so. The stages are those of `fettle runs show`.

The new run is followed as one of `fettle resolve` is.
"""

_ENVIRONMENT = (
    ("FETTLE_DATA_DIR", "the server's data folder"),
    ("FETTLE_DATABASE_URL", "the server's database, when it is not in that folder"),
)

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "runs": {
        "Examples": (
            ("fettle runs", "the newest twenty"),
            ("fettle runs --state parked --state failed", "those that people should look at"),
            ("fettle runs --repository octo/lib --json | jq '.[].usd'", "use it in a script"),
            ("fettle runs show 000660d6", "all about one"),
        ),
        "States": (
            ("queued", "asked for, not begun"),
            ("running", "at work on the stage that is shown"),
            ("parked", "waits for people: `fettle approvals` says for what"),
            ("done", "ended with a pull request, or with a comment"),
            ("refused", "whoever asked may not, or the repository's policy says no"),
            ("cancelled", "somebody ended it; the outcome says who"),
            ("failed", "ended without a result; the outcome says why"),
            ("covered", "nothing was left to do for it, and nobody was told; listed on demand"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "listed, even if there is none"),
            ("2", "there is no database where the settings say, or a mistake in the command"),
        ),
    },
    "show": {
        "Examples": (
            ("fettle runs show 000660d6", "the timeline"),
            ("fettle runs show 000660d6 --turns | less", "every turn, and its diff"),
            ("fettle runs show 000660d6 --json | jq '.stages[] | {stage, usd}'", "in a script"),
        ),
        "Stages": (
            ("done, failed", "as the engine recorded it"),
            ("waited", "stopped for people to decide, and not at work again yet"),
            ("said", "only its conversation is still known, the engine's record was dropped"),
        ),
        "The JSON object": (
            ("id, short", "the run's id, and as much of it as tells it from all others"),
            ("repository, number, kind, title, asked_by", "what was asked for, and by whom"),
            ("reference", "what people call it: owner/name#n, or a package in owner/name"),
            ("state, stage, created_at, updated_at", "where it stands; unix seconds"),
            ("clone", "whether it is one of `fettle resolve` on a clone"),
            ("answers, usd", "of the whole run"),
            ("outcome", "{kind, text, rule, url, pull_request}, or null"),
            (
                "stages",
                """list of {stage, state, started_at, seconds, answers, usd, tokens,
                cache_read_share, summary, error}""",
            ),
            (
                "approvals",
                """list of {id, session, stage, tool, arguments, damaged, rule, why, head, state,
                standing, asked_at, expires_at, decided_at, decided_by, decided_by_id,
                decided_via, reason, used_at}""",
            ),
            (
                "turns",
                """with --turns: list of {session, number, stage, kind, at, seconds, usd, tokens,
                content, tree, diff}; diff is null, or {from, to, text, missing}""",
            ),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "shown"),
            ("2", "no run has that id, or several begin so: those that are near are named"),
        ),
    },
    "cancel": {
        "Examples": (
            ("fettle runs cancel 000660d6", ""),
            ("fettle runs cancel 000660d6 this is the wrong issue", "with the reason, for people"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "it is cancelled, or will be at the next safe place"),
            ("1", "it had ended in another way before"),
            ("2", "no or several such runs; or nobody works on it, and it ends once one does"),
        ),
    },
    "retry": {
        "Examples": (
            ("fettle runs retry 000660d6", "from the beginning"),
            ("fettle runs retry 000660d6 --from implement", "with its triage and its plan"),
            ('fettle runs retry 000660d6 --from "quality fix"', "with its change"),
        ),
        "Environment": (("", "what `fettle serve --help` lists; the same as for the server"),),
        "Exit codes": (
            ("0", "as `fettle resolve`, `fettle address` or `fettle update` has it"),
            ("1", "failed, or cancelled"),
            ("2", "a person has to act: a draft, a question, a setting, a mistake in the command"),
            ("130", "stopped by Ctrl-C; if a server does the work, it goes on"),
        ),
    },
}
