"""How commands are declared: each with its page of the manual, and options that several have.

A page is a Markdown file in `help/`, which `--help` prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

Rows = list[tuple[str, str]]

_ITEM = re.compile(r"- (?:`(?P<name>[^`]+)`)?(?:: )?(?P<words>.*)", re.DOTALL)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonObject = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JsonAtEnd = Annotated[
    bool, typer.Option("--json", help="End with one JSON object on standard output.")
]
DatabaseFile = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="A SQLite file, when it is not one of those that the settings name.",
    ),
]


class Page(NamedTuple):
    """What a file says: paragraphs for above the options, lists by heading for below them."""

    text: str
    sections: dict[str, Rows]


class Manual(TyperCommand):
    """A command that prints its page together with the options that the parser knows."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what stands above the options."""
        _write_text(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the sections below the options."""
        _write_sections(ctx, formatter)


class ManualGroup(TyperGroup):
    """The same for a command that has commands of its own."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what stands above the options."""
        _write_text(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the sections below the options."""
        _write_sections(ctx, formatter)


def read_page(command: str) -> Page:
    """Return the page of a command, named by all its words: `fettle runs show`."""
    name = command.removeprefix("fettle ").replace(" ", "-")
    file = resources.files("app.cli.help").joinpath(f"{name}.md").read_text("utf-8")
    text, *sections = file.partition("\n\n")[2].split("\n## ")
    return Page(text.strip(), dict(_section(each) for each in sections))


def _section(written: str) -> tuple[str, Rows]:
    title, _, items = written.partition("\n\n")
    found = (_ITEM.fullmatch(each) for each in re.split(r"\n(?=- )", items.strip()))
    return title, [(each["name"] or "", " ".join(each["words"].split())) for each in found if each]


def _command(ctx: Any) -> str:
    parents = _command(ctx.parent) if ctx.parent else ""
    return f"{parents} {ctx.command.name}" if parents else "fettle"


def _write_text(ctx: Any, formatter: Any) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(read_page(_command(ctx)).text)


def _write_sections(ctx: Any, formatter: Any) -> None:
    command = _command(ctx)
    settings = {"Settings": _settings()} if command == "fettle serve" else {}
    for title, rows in {**read_page(command).sections, **settings}.items():
        with formatter.section(title):
            formatter.write_dl(rows)


def _settings() -> Rows:
    """Return every setting, as the settings describe themselves."""
    from app.config.load import PREFIX  # noqa: PLC0415 - one page alone needs them
    from app.config.settings import Settings  # noqa: PLC0415 - one page alone needs them

    rows = []
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        variable = alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"
        default = field.get_default(call_default_factory=True)
        shown = f"  [default: {default}]" if default not in (None, ()) else ""
        rows.append((variable, " ".join((field.description or "").split()) + shown))
    return rows


def add(
    group: typer.Typer, run: Callable[..., None], short: str, *, name: str | None = None
) -> None:
    """Add a command, named like its function unless told otherwise."""
    group.command(name, short_help=short, cls=Manual)(run)
