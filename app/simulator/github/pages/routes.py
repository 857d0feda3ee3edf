"""The HTML pages of repositories, issues and pull requests; they need no JavaScript."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from aiohttp import web
from markupsafe import Markup

from app.simulator.github.calls import Parts
from app.simulator.github.gitdir import Commit, GitDir
from app.simulator.github.pages.diff_view import view_files
from app.simulator.github.pages.markdown import render, render_title
from app.simulator.github.pages.review_view import view_reviews
from app.simulator.github.patches import parse_diff
from app.simulator.github.schemas.git import account_of_email
from app.simulator.github.schemas.issues import page_url
from app.simulator.github.state.world import AuthoredText, Issue, Pull, Repository

FOLDER = Path(__file__).parent
HEADS = "refs/heads/"
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
HUES = 360
PageHandler = Callable[[web.Request, Repository], Awaitable[web.StreamResponse]]


class Pages:
    """The web site."""

    def __init__(self, parts: Parts) -> None:
        self._world = parts.world
        self._templates = _environment()
        self._templates.filters |= {
            "ago": self._format_age,
            "markdown": self._markdown,
            "title_html": render_title,
            "url": lambda issue: page_url(self._world, issue),
        }

    def register(self, app: web.Application) -> None:
        """Put the pages on the server; they come last, for their paths match nearly anything."""
        add = app.router.add_get
        add("/", self.home)
        add("/favicon.ico", self.no_icon)
        add("/style.css", self.style)
        add("/avatars/{id}", self.avatar)
        repository = "/{owner}/{repo}"
        add(repository, self._page(self.repository))
        add(repository + r"/issues/{number:\d+}", self._page(self.issue))
        add(repository + r"/pull/{number:\d+}", self._page(self.pull))
        add(repository + r"/pull/{number:\d+}/{part:commits|files}", self._page(self.pull_part))
        add(repository + r"/pull/{number:\d+}.{form:diff|patch}", self._page(self.raw_diff))
        add(repository + "/commit/{sha:[0-9a-f]{7,40}}", self._page(self.commit))
        add(repository + r"/security/dependabot/{number:\d+}", self._page(self.alert))

    async def home(self, _request: web.Request) -> web.Response:
        """List the repositories."""
        return self._html("home.html", repositories=list(self._world.repositories.values()))

    async def no_icon(self, _request: web.Request) -> web.Response:
        """Spare browsers the search for an icon."""
        return web.Response(status=204)

    async def style(self, _request: web.Request) -> web.StreamResponse:
        """Serve the style sheet."""
        return web.FileResponse(FOLDER / "templates" / "style.css", headers=SECURITY)

    async def avatar(self, request: web.Request) -> web.Response:
        """Draw somebody's initial on their colour."""
        wanted = request.match_info["id"]
        every = self._world.accounts.values()
        account = next((each for each in every if str(each.id) == wanted), None)
        letter = (account.login if account else "?")[0].upper()
        hue = sum(ord(c) * 37 for c in account.login) % HUES if account else 0
        radius = 6 if account and account.kind == "Bot" else 20
        text = self._templates.get_template("avatar.svg").render(
            letter=letter, hue=hue, radius=radius
        )
        return web.Response(text=text, content_type="image/svg+xml", headers=SECURITY)

    async def repository(self, _request: web.Request, repository: Repository) -> web.Response:
        """Show issues, pull requests, branches and the README."""
        git, main = GitDir(repository.gitdir), repository.default_branch
        newest = await git.commits(main, limit=5)
        branches = await git.refs(HEADS)
        issues = list(reversed(repository.issues.values()))
        return self._html(
            "repository.html",
            repository=repository,
            issues=[each for each in issues if not each.pull],
            pulls=[each for each in issues if each.pull],
            branches={ref.removeprefix(HEADS): sha for ref, sha in branches.items()},
            commits=[self._commit_row(each) for each in newest],
            readme=await _readme(git, main),
        )

    async def alert(self, request: web.Request, repository: Repository) -> web.Response:
        """Show an alert and the advisory behind it."""
        found = repository.alerts.get(int(request.match_info["number"]))
        if found is None:
            raise web.HTTPNotFound
        return self._html("alert.html", alert=found, repository=repository)

    async def issue(self, request: web.Request, repository: Repository) -> web.StreamResponse:
        """Show an issue with all that was said and done."""
        issue = _issue(request, repository)
        if issue.pull:
            raise web.HTTPFound(page_url(self._world, issue))
        return self._html("issue.html", **self._conversation(issue))

    async def pull(self, request: web.Request, repository: Repository) -> web.StreamResponse:
        """Show a pull request: conversation, commits, changed files."""
        pull = _pull(request, repository)
        git = GitDir(repository.gitdir)
        commits = await git.commits(f"{pull.base_sha}..{pull.head_sha}")
        every = repository.check_runs.values()
        checks = {each.name: each for each in every if each.head_sha == pull.head_sha}
        return self._html(
            "pull.html",
            pull=pull,
            commits=[self._commit_row(each) for each in reversed(commits)],
            files=view_files(parse_diff(await _pull_diff(pull))),
            checks=list(checks.values()),
            **self._conversation(pull.issue),
        )

    async def pull_part(self, request: web.Request, repository: Repository) -> web.StreamResponse:
        """Lead to a section of the pull request's page."""
        url = page_url(self._world, _pull(request, repository).issue)
        raise web.HTTPFound(f"{url}#{request.match_info['part']}")

    async def raw_diff(self, request: web.Request, repository: Repository) -> web.StreamResponse:
        """Give the diff as text."""
        return web.Response(text=await _pull_diff(_pull(request, repository)), headers=SECURITY)

    async def commit(self, request: web.Request, repository: Repository) -> web.StreamResponse:
        """Show one commit."""
        git = GitDir(repository.gitdir)
        sha = await git.resolve(request.match_info["sha"])
        if sha is None:
            raise web.HTTPNotFound
        [commit] = await git.commits(sha, limit=1)
        parent = commit.parents[0] if commit.parents else await git.empty_tree()
        files = view_files(parse_diff(await git.diff(parent, sha)))
        return self._html(
            "commit.html", repository=repository, commit=self._commit_row(commit), files=files
        )

    def _page(self, show: PageHandler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(request: web.Request) -> web.StreamResponse:
            where = request.match_info
            repository = self._world.repository(f"{where['owner']}/{where['repo']}")
            if repository is None:
                raise web.HTTPNotFound
            return await show(request, repository)

        return answer

    def _conversation(self, issue: Issue) -> dict[str, Any]:
        happenings = [(each.id, "event", each) for each in issue.timeline]
        comments = [(each.id, "comment", each) for each in issue.comments]
        views = view_reviews(issue.pull) if issue.pull else []
        reviews = [(each.review.id, "review", each) for each in views]
        items = sorted([*happenings, *comments, *reviews], key=lambda item: item[0])
        return {
            "repository": issue.repository,
            "issue": issue,
            "items": [(kind, thing) for _, kind, thing in items],
            "faces": _faces,
        }

    def _commit_row(self, commit: Commit) -> dict[str, Any]:
        title, _, rest = commit.message.partition("\n")
        return {
            "sha": commit.sha,
            "title": title,
            "rest": rest.strip(),
            "name": commit.author.name,
            "account": account_of_email(self._world, commit.author.email),
            "at": datetime.fromisoformat(commit.author.date),
        }

    def _html(self, template: str, **values: Any) -> web.Response:
        text = self._templates.get_template(template).render(world=self._world, **values)
        return web.Response(text=text, content_type="text/html", headers=SECURITY)

    def _markdown(self, text: str, repository: Repository) -> Markup:
        return render(text, f"{self._world.url}/{repository.full_name}")

    def _format_age(self, at: datetime) -> str:
        seconds = int((self._world.get_time() - at).total_seconds())
        for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
            if seconds >= size:
                count = seconds // size
                return f"{count} {name}{'s' if count > 1 else ''} ago"
        return "just now"


@cache
def _loader() -> jinja2.FileSystemLoader:
    return jinja2.FileSystemLoader(FOLDER / "templates")


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=_loader(),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _issue(request: web.Request, repository: Repository) -> Issue:
    found = repository.issues.get(int(request.match_info["number"]))
    if found is None:
        raise web.HTTPNotFound
    return found


def _pull(request: web.Request, repository: Repository) -> Pull:
    found = _issue(request, repository).pull
    if found is None:
        raise web.HTTPNotFound
    return found


async def _pull_diff(pull: Pull) -> str:
    git = GitDir(pull.issue.repository.gitdir)
    start = await git.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    return await git.diff(start, pull.head_sha)


async def _readme(git: GitDir, revision: str) -> tuple[str, str] | None:
    """Return name and text of the README, if there is one."""
    for entry in await git.entries(revision, ""):
        if entry.kind == "blob" and entry.path.lower().startswith("readme"):
            return entry.path, (await git.blob(entry.sha)).decode(errors="replace")
    return None


def _faces(written: AuthoredText) -> list[tuple[str, list[str]]]:
    """Return the logins behind each kind of reaction."""
    every: dict[str, list[str]] = {}
    for reaction in written.reactions:
        every.setdefault(reaction.content, []).append(reaction.user.login)
    return list(every.items())
