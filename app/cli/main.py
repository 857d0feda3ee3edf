"""The commands' table of contents: a module is imported when its command is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.main import get_command

from app.cli.declaration import ManualGroup, add

COMMANDS = {
    "serve": ("app.cli.serve:serve", "Run the server of your GitHub App."),
    "demo": ("app.cli.demo:demo", "Watch a real bug become a pull request."),
    "setup": ("app.cli.setup.register_app:setup", "Register your GitHub App."),
    "rotate-secret": ("app.cli.setup.rotate:rotate_secret", "Replace the webhook secret."),
    "rotate-key": ("app.cli.setup.rotate:rotate_key", "Replace the App's private key."),
    "encrypt": ("app.cli.storage.commands:encrypt", "Seal the texts in the database."),
    "backup": ("app.cli.storage.commands:backup", "Write a backup of a running server."),
    "restore": ("app.cli.storage.commands:restore", "Put a server back from a backup."),
    "forget": ("app.cli.storage.purge:forget", "Delete all that is kept about a repository."),
    "resolve": (
        "app.cli.resolve.commands:resolve",
        "Resolve an issue, on GitHub or in a clone of yours.",
    ),
    "address": ("app.cli.resolve.pulls:address", "Do what reviews of a pull request ask for."),
    "update": ("app.cli.resolve.pulls:update", "Merge its base branch into a pull request."),
    "undo": ("app.cli.resolve.pulls:undo", "Take back what the last run on an issue did."),
    "scan": ("app.cli.remediate.commands:scan", "Look at Dependabot alerts, and change nothing."),
    "remediate": (
        "app.cli.remediate.commands:remediate",
        "Turn Dependabot alerts into verified fixes.",
    ),
    "page": ("app.cli.page:page", "Make a code to log in to the pages with."),
    "login": ("app.cli.remote:login", "Sign in to a server from a terminal."),
    "api": ("app.cli.remote:api", "Ask a server that you signed in to."),
    "token": ("app.cli.tokens:token", "Let programs read what the pages show."),
    "approvals": ("app.cli.runs.approve:approvals", "List what waits for a decision."),
    "approve": ("app.cli.runs.approve:approve", "Let a call run that waits."),
    "deny": ("app.cli.runs.approve:deny", "Refuse a call that waits."),
    "receive": ("app.cli.deliveries:receive", "Feed a payload to the front door."),
    "redeliver": (
        "app.cli.deliveries:redeliver",
        "Have GitHub deliver something once more.",
    ),
    "eval": (
        "app.cli.evaluate:evaluate",
        "Try how well runs do on cases with known answers.",
    ),
    "verify": ("app.cli.verify:verify", "Hold a pull request against its signed statement."),
    "signing-key": (
        "app.cli.verify:signing_key",
        "Print the keys that statements are signed with.",
    ),
    "audit": ("app.cli.storage.audit:audit", "List what was done with privilege, and verify it."),
    "doctor": ("app.cli.doctor:doctor", "Check machine, App and settings."),
    "init": ("app.cli.environment:init", "Write a policy with the checks that work here."),
    "policy": ("app.cli.policy.commands:policy", "Check a policy, or try out a changed one."),
    "flaky": ("app.cli.flaky:flaky", "List a repository's tests that fail now and then."),
    "runs": ("app.cli.runs.list:runs", "List runs; show one with all that it did."),
}
"""Name, where the function or group is, and the sentence that `fettle --help` has for it."""


class _Commands(Mapping[str, Any]):
    """The parsers of the table's commands, each made when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = COMMANDS[name][0].partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            return get_command(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        add(alone, found, COMMANDS[name][1], name=name)
        return get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Fettle(ManualGroup):
    """The group that is `fettle` itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": _Commands()})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the table's order."""
        del ctx
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in COMMANDS.items()])


cli = typer.Typer(
    cls=_Fettle,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fettle {version('fettle')}")
        raise typer.Exit


@cli.callback()
def fettle(
    *,
    _: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
