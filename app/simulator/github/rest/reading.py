"""REST endpoints of search: issues, pull requests, code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from app.simulator.github.answers import Answer, ApiError, Json
from app.simulator.github.calls import Call
from app.simulator.github.gitdir import GitDir, GitFailed, TreeEntry
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.common import minimal_repository_json
from app.simulator.github.schemas.git import entry_json
from app.simulator.github.schemas.issues import issue_json
from app.simulator.github.state.world import Issue, Repository, World

routes = Routes()
_TERM = re.compile(r'(?:(?P<key>[a-z]+):)?(?:"(?P<quoted>[^"]*)"|(?P<plain>\S+))')


@dataclass(frozen=True)
class Query:
    """What a search asks for, as GitHub reads it: quoted words are never qualifiers."""

    words: list[str]
    repositories: set[str]
    kinds: set[str]
    owners: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    updated: str = ""
    """The day from which on something has happened to it."""

    @classmethod
    def parse(cls, text: str) -> Query:
        """Take the query apart."""
        words: list[str] = []
        found: dict[str, set[str]] = {"repo": set(), "is": set(), "user": set(), "label": set()}
        updated = ""
        for term in _TERM.finditer(text):
            value = term["quoted"] if term["quoted"] is not None else term["plain"]
            if term["key"] in found:
                found[term["key"]].add({"pull-request": "pr"}.get(value, value).lower())
            elif term["key"] == "updated" and value.startswith(">="):
                updated = value[2:]
            else:
                words.append(f"{term['key']}:{value}" if term["key"] else value)
        words = [word.lower() for word in words]
        return cls(words, found["repo"], found["is"], found["user"], found["label"], updated)

    def select_repositories(self, call: Call) -> list[Repository]:
        """Return the repositories that are searched: of those seen, the ones that are named."""
        assert call.token
        every = [each for each in call.world.repositories.values() if call.token.sees(each)]
        return [
            each
            for each in every
            if (not self.repositories or each.full_name.lower() in self.repositories)
            and (not self.owners or each.owner.login.lower() in self.owners)
        ]

    def takes(self, issue: Issue) -> bool:
        """Say whether an issue or pull request is what is looked for."""
        return (
            ("pr" if issue.pull else "issue") in self.kinds
            and not {"open", "closed"} & self.kinds - {issue.state}
            and self.labels <= {label.name.lower() for label in issue.labels}
            and issue.updated_at.date().isoformat() >= self.updated
            and _holds(issue, self.words)
        )


@routes.add("GET", "/search/issues", scope="token")
async def search_issues(call: Call) -> Answer:
    """Find issues or pull requests by words of their title and body."""
    query = Query.parse(call.request.query.get("q", ""))
    if not query.kinds & {"issue", "pr"}:
        raise ApiError(422, "Query must include 'is:issue' or 'is:pull-request'")
    found = [
        issue_json(call.world, issue) | {"score": 1.0}
        for repository in query.select_repositories(call)
        for issue in reversed(repository.issues.values())
        if query.takes(issue)
    ]
    kind = {"search_type": "lexical"}
    return call.page(found, lambda page: _results(page, len(found)) | kind)


def _holds(issue: Issue, words: list[str]) -> bool:
    text = f"{issue.title}\n{issue.body}".lower()
    return all(word in text for word in words)


@routes.add("GET", "/search/code", scope="token")
async def search_code(call: Call) -> Answer:
    """Find files of default branches that hold all the words."""
    query = Query.parse(call.request.query.get("q", ""))
    found = [
        _match_json(call.world, repository, entry)
        for repository in query.select_repositories(call)
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
