"""The manual: what `--help` says beyond the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from app.cli.help import deliveries as deliveries_manual
from app.cli.help import doctor as doctor_manual
from app.cli.help import evaluate as eval_manual
from app.cli.help import policy as policy_manual
from app.cli.help import pulls as pulls_manual
from app.cli.help import remediate as remediate_manual
from app.cli.help import rotate as rotate_manual
from app.cli.help import runs as runs_manual
from app.cli.help import setup as setup_manual
from app.cli.help import storage as stored_manual

Rows = Sequence[tuple[str, str]]
Sections = dict[str, Rows]

STOPPED = ("130", "stopped by Ctrl-C")

FETTLE = """
Turn a labelled issue into a pull request that passes the repository's checks.

Begin with `fettle demo`: it shows all of it in a minute, and needs no GitHub and no
key. Then have `fettle resolve` work on an issue, in a clone of yours or on GitHub, or let `fettle
serve` listen to your GitHub. Each explains itself: `fettle resolve --help`.
"""

FETTLE_SECTIONS: Sections = {
    "Exit codes": (
        ("0", "done"),
        ("1", "failed: what was asked for could not be done"),
        ("2", "a person has to act: a setting, a question, a draft to look at"),
        STOPPED,
    ),
}

SERVE = """
Serve webhooks and work on what they ask for, until SIGTERM or Ctrl-C.

GitHub sends its webhooks to /webhook. Set the label `bot:resolve` on an issue, as somebody who may
write to the repository, and it becomes a pull request. /healthz and /readyz tell whether the
server lives and takes work; /metrics has numbers for Prometheus.

Stopping loses nothing: runs are held at a safe place and go on at the next start. So they do after
kill -9 or a power cut.

All settings are environment variables. An App id, its key, a webhook secret and a way to a model
have to be there; everything else has a default. What `fettle setup` has written into the data
folder need not be set: a variable wins over its file, and the App's id, key and webhook secret are
taken together from one place or the other.

Where there is no App at all, the server says so, here and at /, takes no webhook (503), is alive
and not ready, and goes on by itself once `fettle setup` is done.
"""

SERVE_SECTIONS: Sections = {
    "Examples": (
        ("fettle setup", "once: it registers the App and keeps its secrets"),
        ("export FETTLE_APP_ID=123456 FETTLE_PRIVATE_KEY_FILE=app.pem", "or what its page says"),
        ("export FETTLE_WEBHOOK_SECRETS=... ANTHROPIC_API_KEY=...", ""),
        ("fettle serve", ""),
    ),
    "Exit codes": (
        ("0", "stopped when asked to"),
        ("1", "failed"),
        ("2", "refused to start: every problem with the settings is listed, with its remedy;"),
        ("", "or stopped before there was an App: it never served"),
    ),
}

DEMO = """
Watch a real bug of a real package become a pull request, on this machine alone.

A GitHub and a model that run here play their parts. All else is real: the server is the one that
`fettle serve` starts. It gets a signed webhook, clones, works in its sandbox, runs the package's
tests, pushes, and opens the pull request. Then somebody reviews that, and each thread is answered.
In the end upstream's own tests of the next release judge it.
Only the package and a few tools are fetched, with pip, the first time.
"""

DEMO_SECTIONS: Sections = {
    "Examples": (
        ("fettle demo", "watch"),
        ("fettle demo --stay", "then see the issue and the pull request in a browser"),
        ("fettle demo --json | jq '.pull_requests[0].title'", "use it in a script"),
    ),
    "Environment": (
        ("ANTHROPIC_API_KEY", "when it is set, the demo asks whether to use the real model"),
        ("TMPDIR", "where the demo keeps its files, /tmp by default"),
    ),
    "Exit codes": (
        ("0", "one pull request, every thread of its review answered, and upstream's tests went"),
        ("", "from red to green"),
        ("1", "anything else"),
        ("2", "this machine lacks something; the message says what"),
        STOPPED,
    ),
}

RESOLVE = """
Resolve an issue on GitHub, or a wish for a clone of yours: here, with its progress live.

An issue is named like octo/lib#25, by its address, or by a repository and a number, where a short
name out of FETTLE_REPOSITORIES will do. No label is needed: whoever has the App's key may ask. The
work is what the label starts, from the comment on the issue to the pull request. If `fettle serve`
is at work on this machine's database, it does it, and Ctrl-C ends the watching alone; else this
command does it, and after Ctrl-C or a crash the same command goes on where it stopped.

In a clone, a branch `bot/...` is all that you get, with the pull request's text on standard output,
as Markdown unless that is a terminal. Your checkout, index, settings and other branches stay as
they are, and what you have not committed is left out. Nothing is asked of GitHub.

Either way: understand, plan, make each step and commit it, look at it with fresh eyes, run the
repository's own checks before and after, write the pull request. Commands run in a sandbox without
network. The checks are found in the repository's files, or named in its .github/fettle.yml.
"""

RESOLVE_SECTIONS: Sections = {
    "Examples": (
        ("fettle resolve octo/lib#25", "an issue on GitHub"),
        ("fettle resolve https://github.com/octo/lib/issues/25", "the same"),
        ("fettle resolve lib 25", 'the same, with FETTLE_REPOSITORIES=\'{"lib": "octo/lib"}\''),
        ("fettle resolve . --issue bug.md", "the clone you stand in"),
        ('fettle resolve ~/src/parse "Let %f take one digit" --json', "use it in a script"),
        (
            "gh issue view 7 --json title,body -q '.title+\"\\n\"+.body' > bug.md",
            "an issue of GitHub, without the App",
        ),
    ),
    "Environment": (
        ("ANTHROPIC_API_KEY", "key for the Messages API"),
        (
            "ANTHROPIC_BASE_URL",
            "another server that speaks the Messages API; then no key is needed",
        ),
        ("FETTLE_MODEL", "the model that writes code"),
        ("FETTLE_RUN_BUDGET_USD", "dollars that the run may spend at most"),
        ("FETTLE_TOOLCHAINS", "folders with what the checks need, such as a Python with pytest"),
        ("FETTLE_DATA_DIR", "where a run keeps its files; for GitHub, what the server has"),
        ("FETTLE_REPOSITORIES", "short names of repositories, as JSON"),
        ("FETTLE_APP_ID and others", "for GitHub, all that `fettle serve` needs"),
    ),
    "The JSON object of an issue on GitHub": (
        ("id, repository, number, ...", "as in `fettle runs show`, without stages"),
        ("waits_for, url", "when it waits: ids of approvals, or an answer; and where to answer"),
    ),
    "The JSON object": (
        ("outcome, text", "pull_request, comment (a question, an answer) or failed; in words"),
        ("branch, base, commits", "its name, the commit it stands on, a list of {sha, subject}"),
        ("title, body, draft", "of the pull request; a draft says what is not done"),
        ("comments", "what would be said on the issue"),
        ("quality", "list of {check, command, exit_code_before, exit_code_after, passed}"),
        ("cost", "{usd, turns, tokens}"),
        ("kept", "the folder with conversation and log, if the run failed"),
    ),
    "Exit codes": (
        ("0", "done: the pull request or branch is there, and nothing fails that passed before"),
        ("1", "failed, or cancelled; what was committed until then is on a branch"),
        ("2", "a person has to act: a draft, a question, a setting, a mistake in the command"),
        ("130", "stopped by Ctrl-C; if a server does the work, it goes on"),
    ),
}

APPROVALS = """
List the calls that wait for a person's decision: of the server's runs, and of runs on clones.

A run that wants to do something that takes a yes asks on its issue, and waits. Whoever may write
to the repository can answer there. Whoever may read and write the database can answer here, with
`fettle approve` and `fettle deny`, also while the server runs.
"""

APPROVALS_SECTIONS: Sections = {
    "Examples": (
        ("fettle approvals", "id, repository and issue, call, time until which it waits"),
        ("fettle approvals --json | jq '.[].asking.arguments'", "use it in a script"),
    ),
    "Environment": (
        ("FETTLE_DATA_DIR", "the server's data folder"),
        ("FETTLE_DATABASE_URL", "the server's database, when it is not in that folder"),
    ),
    "Exit codes": (
        ("0", "listed, even if nothing waits"),
        ("2", "there is no database where the settings say"),
    ),
}

APPROVE = """
Let one call run that waits for a decision: exactly as it is shown, and once.

The whole call is shown first, and nothing is decided before you say yes. Your name on this machine
is kept with the decision, and stands in the discussion on GitHub afterwards. The first answer
counts: what somebody else has decided stays decided.
"""

APPROVE_SECTIONS: Sections = {
    "Examples": (
        ("fettle approve k3f9x2", "look, then decide"),
        ("fettle approve k3f9x2 --yes", "in a script that has looked itself"),
    ),
    "Environment": APPROVALS_SECTIONS["Environment"],
    "Exit codes": (
        ("0", "decided so, now or before"),
        ("1", "not: no such approval, decided otherwise, expired, or you said no"),
        ("2", "a setting or a mistake in the command; nothing was decided"),
    ),
}

DENY = """
Refuse one call that waits for a decision. The run goes on without it.

The reason goes to the model, which looks for another way, and into the discussion on GitHub.
"""

DENY_SECTIONS: Sections = {
    "Examples": (
        ("fettle deny k3f9x2 keep the history, use git revert", "the words after the id"),
        ("fettle deny k3f9x2 --yes", "without being asked, and without a reason"),
    ),
    "Environment": APPROVALS_SECTIONS["Environment"],
    "Exit codes": APPROVE_SECTIONS["Exit codes"],
}

SECTIONS = {
    "fettle": FETTLE_SECTIONS,
    "serve": SERVE_SECTIONS,
    "demo": DEMO_SECTIONS,
    "resolve": RESOLVE_SECTIONS,
    "approvals": APPROVALS_SECTIONS,
    "approve": APPROVE_SECTIONS,
    "deny": DENY_SECTIONS,
    **doctor_manual.SECTIONS,
    **policy_manual.SECTIONS,
    **pulls_manual.SECTIONS,
    **remediate_manual.SECTIONS,
    **eval_manual.SECTIONS,
    **runs_manual.SECTIONS,
    **deliveries_manual.SECTIONS,
    **setup_manual.SECTIONS,
    **rotate_manual.SECTIONS,
    **stored_manual.SECTIONS,
}


class Manual(TyperCommand):
    """A command whose help ends with sections of its own."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        _write(ctx, formatter)


class FettleManual(TyperGroup):
    """The same for `fettle` itself."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        _write(ctx, formatter)


def _write(ctx: Any, formatter: Any) -> None:
    command = ctx.command.name if ctx.parent else "fettle"
    settings = {"Settings": _settings()} if command == "serve" else {}
    for title, rows in {**SECTIONS[command], **settings}.items():
        with formatter.section(title):
            # In the code these texts are broken where our lines end, not where the terminal's do.
            formatter.write_dl([(name, " ".join(words.split())) for name, words in rows])


def _settings() -> Rows:
    """Return every setting, as the settings describe themselves."""
    # `--help` of the others stays fast.
    from app.config.load import PREFIX  # noqa: PLC0415 - see above
    from app.config.settings import Settings  # noqa: PLC0415 - see above

    rows = []
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        variable = alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"
        default = field.get_default(call_default_factory=True)
        shown = f"  [default: {default}]" if default not in (None, ()) else ""
        rows.append((variable, " ".join((field.description or "").split()) + shown))
    return rows
