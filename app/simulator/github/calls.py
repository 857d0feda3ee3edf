"""A REST call as its handler receives it: caller, parameters, body, page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, ValidationError

from app.simulator.github.accounts import Actor, App
from app.simulator.github.answers import Answer, ApiError, not_found, require_found
from app.simulator.github.changes.alerts import AlertChanges
from app.simulator.github.changes.checks import CheckChanges
from app.simulator.github.changes.issues import IssueChanges
from app.simulator.github.changes.merges import MergeChanges
from app.simulator.github.changes.pulls import PullChanges
from app.simulator.github.changes.repositories import RepositoryChanges
from app.simulator.github.changes.reviews import ReviewChanges
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.world import Issue, Repository, World
from app.simulator.github.tokens import Token, Tokens
from app.simulator.github.webhooks import Webhooks

Json = Any
LONGEST_PAGE = 100
BODY = web.RequestKey("body", bytes)
TOKEN = web.RequestKey("token", Token)


class Input(BaseModel):
    """What a call may send; GitHub ignores what it does not know."""

    model_config = ConfigDict(extra="ignore", strict=True)


Sent = TypeVar("Sent", bound=Input)


@dataclass(frozen=True)
class Parts:
    """All that the local GitHub is made of, for whoever answers a call."""

    world: World
    tokens: Tokens
    webhooks: Webhooks
    issues: IssueChanges
    pulls: PullChanges
    merges: MergeChanges
    reviews: ReviewChanges
    checks: CheckChanges
    alerts: AlertChanges
    repositories: RepositoryChanges


def build_parts(world: World) -> Parts:
    """Return the parts of a GitHub in this state."""
    webhooks = Webhooks(world)
    issues = IssueChanges(world, webhooks.announce)
    alerts = AlertChanges(world, webhooks.announce)
    pulls = PullChanges(world, webhooks.announce, issues, alerts)
    return Parts(
        world,
        Tokens(world),
        webhooks,
        issues,
        pulls,
        MergeChanges(world, issues, pulls),
        ReviewChanges(world, webhooks.announce, issues),
        CheckChanges(world, webhooks.announce),
        alerts,
        RepositoryChanges(world, webhooks),
    )


@dataclass
class Call:
    """One REST call whose sender has been checked."""

    parts: Parts
    request: web.Request
    app: App | None = None
    token: Token | None = None
    found: Repository | None = None

    @property
    def world(self) -> World:
        """Return the state."""
        return self.parts.world

    @property
    def repository(self) -> Repository:
        """Return the repository that the path names."""
        assert self.found
        return self.found

    @property
    def git(self) -> GitDir:
        """Return the repository's git directory."""
        return GitDir(self.repository.gitdir)

    @property
    def actor(self) -> Actor:
        """Return who writes: the bot of the token's App."""
        assert self.token
        return self.token.actor

    def number(self, name: str = "number") -> int:
        """Return a number of the path; 404 for anything else."""
        text = self.request.match_info[name]
        if not text.isdecimal():
            raise not_found()
        return int(text)

    def issue(self) -> Issue:
        """Return the issue or pull request that the path names."""
        return require_found(self.repository.issues.get(self.number()))

    def parse_body(self, shape: type[Sent]) -> Sent:
        """Return the JSON body; 400 when it is none, 422 when it does not fit."""
        try:
            raw = orjson.loads(self.request[BODY] or b"{}")
        except orjson.JSONDecodeError:
            raise ApiError(400, "Problems parsing JSON") from None
        try:
            return shape.model_validate(raw)
        except ValidationError as error:
            reasons = [
                f"{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
            ]
            raise ApiError(422, "Invalid request.\n\n" + "\n".join(reasons)) from None

    def page(self, items: Sequence[Json], wrap: Callable[[list[Json]], Json] = list) -> Answer:
        """Return one page of items, with the Link header that leads to the others."""
        size = min(self.query_number("per_page", 30), LONGEST_PAGE)
        number = self.query_number("page", 1)
        last = max(1, -(-len(items) // size))
        targets = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
        wanted = [
            (rel, page)
            for rel, page in targets.items()
            if 1 <= page <= last
            and page != number
            and (rel in ("prev", "first")) == (page < number)
        ]
        links = ", ".join(f'<{self._url_of_page(page)}>; rel="{rel}"' for rel, page in wanted)
        chosen = list(items[(number - 1) * size : number * size])
        return Answer(200, wrap(chosen), {"Link": links} if links else {})

    def query_number(self, name: str, default: int) -> int:
        """Return a positive number of the query; the default for anything else."""
        text = self.request.query.get(name, "")
        return max(1, int(text)) if text.isdecimal() else default

    def _url_of_page(self, page: int) -> str:
        query = dict(parse_qsl(self.request.query_string)) | {"page": str(page)}
        return f"{self.world.url}{self.request.rel_url.raw_path}?{urlencode(query)}"
