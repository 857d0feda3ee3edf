"""REST calls that only read: reviews, the logs of jobs, the search."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from aiohttp import web

from app.local.github.answers import Answer, Json, Refused, not_found
from app.local.github.calls import Call
from app.local.github.gitdir import GitDir, GitFailed, TreeEntry
from app.local.github.routing import Routes
from app.local.github.shapes import account_json, minimal_repository_json
from app.local.github.shapes_git import entry_json, root_of
from app.local.github.shapes_issues import issue_json
from app.local.github.shapes_reviews import remark_json, review_json
from app.local.github.state import Issue, Pull, Repository, World

routes = Routes()
STORAGE = "/_storage/logs"
_TERM = re.compile(r'(?:(?P<key>[a-z]+):)?(?:"(?P<quoted>[^"]*)"|(?P<plain>\S+))')


def _pull(call: Call) -> Pull:
    found = call.issue().pull
    if found is None:
        raise not_found()
    return found


@routes.add("GET", "/pulls/{number}/reviews", needs="pull_requests=read")
async def list_reviews(call: Call) -> Answer:
    """Return a pull request's reviews, oldest first."""
    pull = _pull(call)
    return call.page([review_json(call.world, pull, each) for each in pull.reviews])


@routes.add("GET", "/pulls/{number}/comments", needs="pull_requests=read")
async def list_remarks(call: Call) -> Answer:
    """Return what reviews say about single lines."""
    pull = _pull(call)
    remarks = [remark for review in pull.reviews for remark in review.remarks]
    return call.page([remark_json(call.world, pull, each) for each in remarks])


_LONG_AGO = "2020-01-01T00:00:00Z"  # nobody asks here when a log was written

# --- logs -----------------------------------------------------------------------------------------


@routes.add("GET", "/actions/jobs/{job_id}", needs="actions=read")
async def get_run_part(call: Call) -> Json:
    """Return a job of Actions; its run has one job here, and the same number."""
    number = call.number("job_id")
    if number not in call.repository.logs:
        raise not_found()
    run = call.repository.check_runs[number]
    root = root_of(call.world, call.repository)
    return {
        "id": number,
        "node_id": f"CR_{number}",
        "run_id": number,
        "run_url": f"{root}/actions/runs/{number}",
        "workflow_name": run.name,
        "head_branch": None,
        "head_sha": run.head_sha,
        "name": run.name,
        "status": run.status,
        "conclusion": run.conclusion,
        "url": f"{root}/actions/jobs/{number}",
        "html_url": f"{call.world.url}/{call.repository.full_name}/actions/runs/{number}",
        "check_run_url": f"{root}/check-runs/{number}",
        "created_at": _LONG_AGO,
        "started_at": _LONG_AGO,
        "completed_at": _LONG_AGO,
        "labels": [],
        "steps": [],
        **dict.fromkeys(("runner_id", "runner_name", "runner_group_id", "runner_group_name")),
    }


@routes.add("GET", "/actions/runs/{run_id}", needs="actions=read")
async def get_run(call: Call) -> Json:
    """Return what started a run of Actions, and on what."""
    number = call.number("run_id")
    log = call.repository.logs.get(number)
    if log is None:
        raise not_found()
    run, actor = call.repository.check_runs[number], account_json(call.world, log.actor)
    root = root_of(call.world, call.repository)
    here = f"{root}/actions/runs/{number}"
    links = ("jobs", "logs", "cancel", "rerun", "artifacts")
    return {
        "id": number,
        "node_id": f"WFR_{number}",
        "name": run.name,
        "event": log.event,
        "head_branch": None,
        "head_sha": run.head_sha,
        "head_commit": None,
        "run_number": 1,
        "display_title": run.name,
        "path": ".github/workflows/checks.yml",
        "workflow_id": 1,
        "workflow_url": f"{root}/actions/workflows/1",
        "check_suite_url": f"{root}/check-suites/{number}",
        "status": run.status,
        "conclusion": run.conclusion,
        "url": here,
        "html_url": f"{call.world.url}/{call.repository.full_name}/actions/runs/{number}",
        "created_at": _LONG_AGO,
        "updated_at": _LONG_AGO,
        "pull_requests": [],
        "actor": actor,
        "triggering_actor": actor,
        "repository": minimal_repository_json(call.world, call.repository),
        "head_repository": minimal_repository_json(call.world, log.head_repository),
        **{f"{link}_url": f"{here}/{link}" for link in links},
    }


@routes.add("GET", "/actions/jobs/{job_id}/logs", needs="actions=read")
async def get_log(call: Call) -> Answer:
    """Send the caller to where the log is kept, with a seal that opens it for a minute."""
    number = call.number("job_id")
    log = call.repository.logs.get(number)
    if log is None:
        raise not_found()
    log.seal = secrets.token_hex(8)
    where = f"{call.world.url}{STORAGE}/{call.repository.id}/{number}?sig={log.seal}"
    return Answer(302, None, {"Location": where})


def register_storage(app: web.Application, world: World) -> None:
    """Put the storage host's part on the server: it takes the seal, and no credentials."""

    async def answer(request: web.Request) -> web.Response:
        if "Authorization" in request.headers:
            return web.Response(status=400, text="InvalidAuthenticationInfo")
        repository = world.repositories[int(request.match_info["repository"])]
        log = repository.logs[int(request.match_info["job"])]
        seal, log.seal = log.seal, None
        if seal is None or request.query.get("sig") != seal:
            return web.Response(status=403, text="AuthenticationFailed")
        return web.Response(text=log.text)

    app.router.add_get(f"{STORAGE}/{{repository}}/{{job}}", answer)


# --- search ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """What a search asks for, as GitHub reads it: quoted words are never qualifiers."""

    words: list[str]
    repositories: set[str]
    kinds: set[str]

    @classmethod
    def of(cls, text: str) -> Query:
        """Take the query apart."""
        words, repositories, kinds = [], set(), set()
        for term in _TERM.finditer(text):
            value = term["quoted"] if term["quoted"] is not None else term["plain"]
            if term["key"] == "repo":
                repositories.add(value.lower())
            elif term["key"] == "is":
                kinds.add({"pull-request": "pr"}.get(value, value))
            else:
                words.append(f"{term['key']}:{value}" if term["key"] else value)
        return cls([word.lower() for word in words], repositories, kinds)

    def within(self, call: Call) -> list[Repository]:
        """Return the repositories that are searched: of those seen, the ones that are named."""
        assert call.token
        every = [each for each in call.world.repositories.values() if call.token.sees(each)]
        if not self.repositories:
            return every
        return [each for each in every if each.full_name.lower() in self.repositories]


@routes.add("GET", "/search/issues", scope="token")
async def search_issues(call: Call) -> Answer:
    """Find issues or pull requests by words of their title and body."""
    query = Query.of(call.request.query.get("q", ""))
    if not query.kinds & {"issue", "pr"}:
        raise Refused(422, "Query must include 'is:issue' or 'is:pull-request'")
    found = [
        issue_json(call.world, issue) | {"score": 1.0}
        for repository in query.within(call)
        for issue in reversed(repository.issues.values())
        if ("pr" if issue.pull else "issue") in query.kinds and _holds(issue, query.words)
    ]
    kind = {"search_type": "lexical"}
    return call.page(found, lambda page: _results(page, len(found)) | kind)


def _holds(issue: Issue, words: list[str]) -> bool:
    text = f"{issue.title}\n{issue.body}".lower()
    return all(word in text for word in words)


@routes.add("GET", "/search/code", scope="token")
async def search_code(call: Call) -> Answer:
    """Find files of default branches that hold all the words."""
    query = Query.of(call.request.query.get("q", ""))
    found = [
        _match_json(call.world, repository, entry)
        for repository in query.within(call)
        for entry in await _entries_with(repository, query.words)
    ]
    return call.page(found, lambda page: _results(page, len(found)))


async def _entries_with(repository: Repository, words: list[str]) -> list[TreeEntry]:
    git = GitDir(repository.gitdir)
    wanted = [part for word in words for part in ("-e", word)]
    grep = ["grep", "-l", "-i", "-F", "--all-match", *wanted, repository.default_branch]
    try:
        lines = (await git.text(*grep)).splitlines()
    except GitFailed:  # nothing found
        return []
    paths = [line.partition(":")[2] for line in lines]
    return [e for path in paths for e in await git.entries(repository.default_branch, path)]


def _match_json(world: World, repository: Repository, entry: TreeEntry) -> Json:
    shape = entry_json(world, repository, entry, repository.default_branch, None)
    kept = {key: shape[key] for key in ("name", "path", "sha", "url", "git_url", "html_url")}
    return {**kept, "repository": minimal_repository_json(world, repository), "score": 1.0}


def _results(page: list[Json], total: int) -> Json:
    return {"total_count": total, "incomplete_results": False, "items": page}
