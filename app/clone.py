"""A run on a local clone: the same pipeline without GitHub; its branch and its words stay here."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from pydantic import SecretStr
from rich.console import Console

from agents.ports import PullRequest, Steps, Usage
from agents.requests import Person, Repository, Request, ResolveIssue
from agents.run import Outcome, Ports
from agents.text import publish
from app.git.environment import Identity
from app.git.local import LocalClone
from app.git.mirror import Mirror
from app.git.source import GitSource
from app.redaction import Redactor
from app.settings import Settings
from app.store.turns import StoredJournal
from app.wiring import Parts, make_runner, open_parts
from handlers.access import Refusal

NOBODY = Person(id=0, login="local")
AUTHOR = Identity("Fettle", "fettle@localhost")


@dataclass
class ClonePublisher:
    """The port `Publisher` on a clone: a branch instead of a push, texts instead of posts."""

    clone: LocalClone
    mirror: Mirror
    base: str
    clean: Callable[[str], str]
    said: list[str] = field(default_factory=list)

    async def push(self, branch: str, commit: str) -> None:
        """Put the branch into the clone."""
        await self.clone.deliver(self.mirror, commit, branch)

    async def open_pull_request(
        self, *, branch: str, commit: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Return what would be opened."""
        return PullRequest(
            number=None,
            url=branch,
            branch=branch,
            head=commit,
            base=self.base,
            title=title,
            body=self.clean(body),
            draft=draft,
        )

    async def comment(self, key: str, body: str) -> str:
        """Keep what would be said on the issue; `key` tells one answer from another."""
        self.said.append(self.clean(body))
        return key


@dataclass
class ConsoleReporter:
    """The port `Reporter` in a terminal: a line for each stage, tool calls in passing."""

    console: Console

    def stage_started(self, stage: str, title: str) -> None:
        """Tell that the stage is at work."""
        self.console.print(f"[yellow]now[/]   {title}", highlight=False)

    def stage_finished(self, stage: str, summary: str) -> None:
        """Tell what it came to."""
        self.console.print("[green]done[/]  ", end="")
        self.console.print(summary or stage, markup=False, highlight=False)

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Tell which tool works on what."""
        self.console.print(f"      {tool} {subject}", markup=False, highlight=False, style="dim")

    def spent(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Leave the totals to the end."""


@dataclass
class CloneEquipment:
    """Everything that one run on a clone holds. Whoever can start it may."""

    ports: Ports
    source: GitSource

    async def admit(self) -> Refusal | None:
        """Let it run: the person at the terminal asks for it themselves."""
        return None

    async def finish(self, outcome: Outcome) -> None:
        """Remove the work tree."""
        await self.source.discard(forget=True)

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class CloneResult:
    """What `fettle resolve PATH` prints."""

    outcome: Outcome
    commits: list[dict[str, str]]
    said: list[str]
    spent: tuple[Usage, float, int]

    @property
    def exit_code(self) -> int:
        """Return 0 for a branch that passes, 2 when a person has to act, 1 for a failure."""
        pull = self.outcome.pull_request
        if pull is not None:
            return 2 if pull.draft else 0
        return 1 if self.outcome.kind == "failed" else 2

    @property
    def text(self) -> str:
        """Return it for people, as Markdown."""
        pull = self.outcome.pull_request
        parts = [f"**{self.outcome.text}**", *self.said]
        if pull is not None:
            parts += [f"Branch `{pull.branch}`", f"# {pull.title}", pull.body]
        return "\n\n".join(parts)

    def json(self) -> str:
        """Return it as one JSON object."""
        pull = self.outcome.pull_request
        usage, usd, answers = self.spent
        about = {
            "outcome": self.outcome.kind,
            "text": self.outcome.text,
            "branch": pull.branch if pull else None,
            "commits": self.commits,
            "title": pull.title if pull else None,
            "body": pull.body if pull else None,
            "draft": pull.draft if pull else None,
            "comments": self.said,
            "cost_usd": round(usd, 4),
            "turns": answers,
            "tokens": usage.model_dump(),
        }
        return json.dumps(about, indent=2, ensure_ascii=False)


async def resolve_clone(
    settings: Settings, redactor: Redactor, path: Path, title: str, body: str, console: Console
) -> CloneResult:
    """Run the resolve pipeline on the clone at `path`.

    Raises ConfigError when there is no clone there, or nothing to ask a model with.
    """
    run_id = f"{time.time_ns() // 1000:016x}-{secrets.token_hex(4)}"
    place = settings.data_dir / "clones" / run_id
    place.mkdir(mode=0o711, parents=True)
    own = settings.model_copy(  # a database of its own: no other process takes this run
        update={"database_url": SecretStr(f"sqlite:///{place / 'run.db'}")}
    )
    async with open_parts(own, redactor) as parts:
        clone = LocalClone(path)
        mirror = Mirror(place / "mirror.git", group=parts.sandbox.owner[1])
        equipper = _Equipper(parts, clone, mirror, place, console)
        request = _request(path, (await clone.head()).branch or "HEAD", title, body)
        runner = make_runner(parts, equipper.equip, noreply="localhost")
        await runner.engine.launch()
        await runner.submit(run_id, request)
        outcome = Outcome.model_validate(await runner.engine.result(run_id))
        await runner.engine.drain(0)
        return CloneResult(
            outcome,
            commits=await equipper.commits(outcome),
            said=equipper.said,
            spent=await StoredJournal(parts.database, run_id).spent(),
        )


@dataclass
class _Equipper:
    parts: Parts
    clone: LocalClone
    mirror: Mirror
    place: Path
    console: Console
    said: list[str] = field(default_factory=list)

    async def equip(self, run_id: str, request: Request, steps: Steps) -> CloneEquipment:
        source = GitSource(
            self.mirror,
            self.place / "runs",
            run_id,
            sandbox=self.parts.sandbox,
            fetch=partial(self.clone.bring, self.mirror),
            identity=_author,
            on_command=self.parts.metrics.command_seconds.inc,
        )
        publisher = ClonePublisher(
            self.clone,
            self.mirror,
            request.repository.default_branch,
            lambda text: self.parts.redactor.clean(publish(text)),
            self.said,
        )
        ports = Ports(
            model=self.parts.model,
            journal=StoredJournal(self.parts.database, run_id),
            source=source,
            publisher=publisher,
            reporter=ConsoleReporter(self.console),
            steps=steps,
        )
        return CloneEquipment(ports, source)

    async def commits(self, outcome: Outcome) -> list[dict[str, str]]:
        """Return the commits of the branch, oldest first."""
        if outcome.pull_request is None:
            return []
        base = (await self.clone.head()).commit
        listed = await self.mirror.log(base, outcome.pull_request.head)
        return [{"sha": sha, "subject": subject} for sha, subject in listed]


async def _author() -> Identity:
    return AUTHOR


def _request(path: Path, branch: str, title: str, body: str) -> ResolveIssue:
    return ResolveIssue(
        installation_id=0,
        repository=Repository(id=0, owner="local", name=path.resolve().name, default_branch=branch),
        number=0,
        title=title,
        body=body,
        author=NOBODY,
        asked_by=NOBODY,
        label="",
        url="",
    )
