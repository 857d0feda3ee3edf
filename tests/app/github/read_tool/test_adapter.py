"""What an agent can read of GitHub: its own repository, and the words of those who may write."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web

import app.simulator.github.rest.reading as served
from agents.errors import ToolError
from agents.tools.gh import Gh
from app.github.access.run_reader import asked_at
from app.github.read_tool.adapter import VERBS, GitHubReads
from app.github.transport.tokens import Profile
from app.secrets.redaction import REDACTED
from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.reviews import Inline
from tests.patience import PATIENCE

TOKEN = "ghs_"


def run_id(seconds):
    return f"{int(seconds * 1e6):016x}-5e3f"


@pytest.fixture
def read(scene):
    """Read as the tool does, in a run that is asked for in a minute's time."""
    forge = GitHubReads(scene.github, scene.request, run_id(time.time() + 60))

    async def ask(verb, **arguments):
        call = Gh(verb=verb, **arguments)
        return await forge.read(call.verb, call.model_dump(exclude={"verb"}))

    return ask


@pytest.fixture
async def pull(scene):
    """A pull request by bob, who may write."""
    server, people, repository = scene.server, scene.people, scene.repository
    files = {"src/a.py": "x = 1\n", "README.md": "# parse\nmore\n"}
    await server.commit(repository, files, author=people["bob"], message="m", branch="bot/fix")
    return await open_pull(scene, "bob")


async def open_pull(scene, author):
    return await scene.server.parts.pulls.open(
        scene.repository,
        Actor(scene.people[author]),
        title="Mend it",
        body="It <!-- hidden -->mends.",
        head="bot/fix",
        base="main",
        draft=False,
        maintainer_can_modify=False,
    )


def test_every_verb_of_the_tool_is_served():
    assert VERBS.keys() == set(Gh.model_fields["verb"].annotation.__args__)


def test_a_runs_id_says_when_it_was_asked_for():
    assert asked_at(run_id(1_700_000_000.25)) == 1_700_000_000.25


# --- issues -------------------------------------------------------------------------------------


async def test_the_runs_own_issue_is_what_was_asked_for_not_what_it_became(scene, read):
    await scene.server.edit_issue(
        scene.repository, 1, scene.people["mallory"], title="Push the key", body="Do evil."
    )

    text = await read("issue", number=1)

    assert "Six digits only" in text
    assert "It fails." in text
    assert "evil" not in text
    assert "key" not in text
    assert f"labels: {scene.request.label}" in text


async def test_comments_of_those_who_may_not_write_are_counted_not_shown(scene, read):
    server, people = scene.server, scene.people
    await server.comment(scene.repository, 1, people["bob"], "Use a <!-- not --> lexer.\u202e")
    await server.comment(scene.repository, 1, people["eve"], "EVE says run this")
    await server.comment(scene.repository, 1, people["mallory"], "MALLORY too")

    text = await read("issue", number=1)

    assert "## bob (write)" in text
    assert "Use a  lexer." in text
    assert "EVE" not in text
    assert "MALLORY" not in text
    assert "2 comments by people without write access" in text


async def test_comments_made_after_the_request_are_counted_not_shown(scene):
    await scene.server.comment(scene.repository, 1, scene.people["bob"], "LATE")
    forge = GitHubReads(scene.github, scene.request, run_id(time.time() - 3600))

    text = await forge.read("issue", {"number": 1})

    assert "LATE" not in text
    assert "1 comments made or edited after this run was asked for" in text


@pytest.mark.parametrize(("author", "shown"), [("bob", True), ("mallory", False), ("eve", False)])
async def test_another_issue_is_shown_when_its_author_may_write(scene, read, author, shown):
    issue = await scene.server.create_issue(
        scene.repository, scene.people[author], "OTHER title", "OTHER body"
    )

    text = await read("issue", number=issue.number)

    assert ("OTHER title" in text) is shown
    assert ("OTHER body" in text) is shown
    assert ("not shown" in text) is not shown


async def test_what_is_not_there_is_an_error_for_the_model(read):
    with pytest.raises(ToolError, match="Nothing was found"):
        await read("issue", number=99)


async def test_a_pull_request_is_no_issue(scene, read, pull):
    assert "read it with the verb pull_request" in await read("issue", number=pull.issue.number)


# --- pull requests ------------------------------------------------------------------------------


async def test_a_pull_request_with_reviews_and_files(scene, read, pull):
    number = pull.issue.number
    server, people, repository = scene.server, scene.people, scene.repository
    said = [Inline("src/a.py", 1, "Why?")]
    await server.submit_review(pull, people["ada"], "Nearly.", comments=said)
    evil = [Inline("src/a.py", 1, "MALLORY")]
    await server.submit_review(pull, people["mallory"], "MALLORY", comments=evil)
    await server.comment(repository, number, people["bob"], "Soon.")

    text = await read("pull_request", number=number)

    for shown in ("Mend it (by bob)", "It mends.", "ada: commented\nNearly.", "Why?", "Soon."):
        assert shown in text
    assert "## ada on src/a.py:1" in text
    assert "- src/a.py (added, +1 -0)" in text
    assert "+x = 1" not in text
    assert "MALLORY" not in text
    assert "hidden" not in text
    assert "2 reviews by people without write access" in text


async def test_the_diff_comes_when_asked_for(read, pull):
    assert "+x = 1" in await read("pull_request", number=pull.issue.number, diff=True)


@pytest.mark.parametrize("deleted", [False, True])
async def test_the_branch_of_a_fork_is_not_named(scene, read, deleted):
    server, eve, about = scene.server, scene.people["eve"], {"head": "bot/fix", "title": "Mend it"}
    fork = await server.fork_repository(scene.repository, eve)
    await server.commit(fork, {"src/a.py": "1\n"}, author=eve, message="m", branch="bot/fix")
    pull = await server.open_pull(scene.repository, eve, head_repository=fork, **about)
    if deleted:
        await server.delete_repository(fork)

    text = await read("pull_request", number=pull.issue.number)

    assert "a fork into main" in text
    assert "bot/fix" not in text
    assert "a.py" not in text


async def test_an_issue_is_no_pull_request(read):
    with pytest.raises(ToolError, match="Nothing was found"):
        await read("pull_request", number=1)


# --- checks and logs ----------------------------------------------------------------------------


@pytest.fixture
async def job(scene, pull):
    lines = [f"2026-01-02T03:04:05.1234567Z line {n}\n" for n in range(5_000)]
    log = "".join(lines) + "2026-01-02T03:04:06.0000000Z \x1b[31mFAILED test_a\x1b[0m\n"
    return await scene.server.complete_check(
        scene.repository, pull.head_sha, name="tests", conclusion="failure", log=log
    )


async def test_checks_and_statuses_of_a_branch(scene, read, job):
    text = await read("checks", ref="bot/fix")

    assert f"- tests: failure (id {job.id}, github-actions)" in text
    assert scene.repository.check_runs[job.id].head_sha in text


@pytest.fixture
async def foreign(scene, pull):
    """A job on a commit that no branch here holds, as those of forks are."""
    repository = scene.repository
    files = {"evil.py": "x = 1\n"}
    sha = await scene.server.commit(
        repository, files, author=scene.people["eve"], message="m", branch="theirs"
    )
    await GitDir(repository.gitdir).run("update-ref", "-d", "refs/heads/theirs")
    job = await scene.server.complete_check(
        repository, sha, name="EVIL name", conclusion="failure", log="EVIL log"
    )
    job.output.update(title="EVIL title", summary="EVIL summary")
    return job


async def test_of_a_forks_commit_only_the_states_are_shown(read, foreign):
    text = await read("checks", ref=foreign.head_sha)

    assert f"- a check: failure (id {foreign.id})" in text
    assert "is not shown" in text
    assert "EVIL" not in text


async def test_checks_of_an_older_commit_of_the_default_branch_are_shown(scene, read):
    repository = scene.repository
    sha = (await GitDir(repository.gitdir).refs())["refs/heads/main"]
    files = {"more.py": "x = 1\n"}
    await scene.server.commit(repository, files, author=scene.people["ada"], message="m")
    await scene.server.complete_check(repository, sha, name="tests", conclusion="success", log="")

    assert "- tests: success" in await read("checks", ref=sha)


async def test_the_log_of_a_forks_commit_is_not_shown(scene, read, pull):
    fork = await scene.server.create_repository(scene.people["eve"], "parse")
    job = await scene.server.complete_check(
        scene.repository, pull.head_sha, name="t", conclusion="failure", log="EVIL", fork=fork
    )

    with pytest.raises(ToolError, match="not shown"):
        await read("log", number=job.id)
    assert not [each for each in scene.server.requests if "_storage" in each.path]


@pytest.mark.parametrize(
    ("event", "by"),
    [
        ("issues", "eve"),
        ("issue_comment", "mallory"),
        ("issues", "bob"),
        ("pull_request", "bob"),
        ("push", "eve"),
    ],
)
async def test_a_log_is_shown_when_who_started_the_job_may_write(scene, read, pull, event, by):
    people = scene.people
    about = {"name": "t", "conclusion": "failure", "log": "SAID", "event": event, "by": people[by]}
    job = await scene.server.complete_check(scene.repository, pull.head_sha, **about)
    try:
        text = await read("log", number=job.id)
    except ToolError:
        text = ""

    assert ("SAID" in text) is (by == "bob" or event == "push")


async def test_a_commit_without_checks(read):
    assert "No checks and no statuses." in await read("checks", ref="main")


async def test_the_end_of_a_log_is_fetched_without_the_token(scene, read, job):
    text = await read("log", number=job.id)

    assert text.rstrip().endswith("FAILED test_a")
    assert "line 4999" in text
    assert "line 0\n" not in text
    assert "beginning is left out" in text
    assert "2026-01-02" not in text
    assert len(text) < 17_000
    [fetched] = [each for each in scene.server.requests if "_storage" in each.path]
    assert fetched.status == 200  # with credentials it would be 400, as it is on GitHub's storage


async def test_a_log_without_end_is_left(scene, aiohttp_server):
    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"x" * 65_536)
        return response

    app = web.Application()
    app.router.add_get("/", endless)
    server = await aiohttp_server(app)
    client = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.LOGS
    )

    async with asyncio.timeout(PATIENCE):
        kept = await client._api.tail(str(server.make_url("/")), keep=1_000, most=3_000_000)

    assert kept == b"x" * 1_000


async def test_an_unknown_job_is_an_error_for_the_model(read):
    with pytest.raises(ToolError, match="Nothing was found"):
        await read("log", number=4711)


@pytest.mark.parametrize(
    ("verb", "arguments", "permission"),
    [("log", {"number": 1}, "actions"), ("checks", {"ref": "main"}, "statuses")],
)
async def test_without_the_permission_it_says_so_and_the_rest_works(
    scene, read, verb, arguments, permission
):
    del scene.installation.permissions[permission]

    with pytest.raises(ToolError, match="The App may not read this") as refused:
        await read(verb, **arguments)

    assert permission in str(refused.value)
    assert "Six digits only" in await read("issue", number=1)


# --- search -------------------------------------------------------------------------------------


@pytest.fixture
async def elsewhere(scene):
    """Another repository of the same owner, which the App sees as well."""
    ada = scene.people["ada"]
    other = await scene.server.create_repository(ada, "vault")
    scene.installation.repositories.append(other)
    await scene.server.create_issue(other, ada, "Six CONFIDENTIAL things")
    return other


async def test_search_finds_issues_by_writers_and_counts_the_others(scene, read):
    await scene.server.create_issue(scene.repository, scene.people["bob"], "Six digits and more")

    text = await read("search", query="six digits")

    assert "- #2 (open) Six digits and more" in text
    assert "Six digits only" not in text
    assert "1 by people without write access" in text


@pytest.mark.parametrize(
    "query",
    [
        "six repo:ada/vault",
        'six" repo:ada/vault "',
        "six user:ada",
        "six org:ada",
        '" OR repo:ada/vault',
        'six\\" repo:ada/vault',
        "repo:ada/vault",
        "six) OR (repo:ada/vault",
    ],
)
@pytest.mark.parametrize("of", ["issues", "pull_requests", "code"])
async def test_search_does_not_leave_the_repository(scene, read, elsewhere, query, of):
    text = await read("search", query=query, of=of)

    assert "CONFIDENTIAL" not in text
    asked = [each.path for each in scene.server.requests if "/search/" in each.path]
    [query] = [parse_qs(urlsplit(each).query)["q"][0] for each in asked]
    kind = {"issues": ["is:issue"], "pull_requests": ["is:pull-request"], "code": []}[of]
    assert re.sub(r'"[^"]*"', "", query).split() == ["repo:ada/parse", *kind]


async def test_what_the_search_finds_elsewhere_all_the_same_is_dropped(
    scene, read, elsewhere, monkeypatch
):
    """Were the scope of query and token ignored, the results are still looked at."""
    everything = served.Query(["six"], set(), {"issue"})
    monkeypatch.setattr(served.Query, "parse", lambda text: everything)
    scene.server.tokens.mint = widen_scope(scene)

    text = await read("search", query="six")

    assert "CONFIDENTIAL" in str(answers(scene))
    assert "CONFIDENTIAL" not in text


def answers(scene):
    return [each.answer for each in scene.server.requests if "/search/" in each.path]


def widen_scope(scene):
    mint = scene.server.tokens.mint
    return lambda installation, _repositories, permissions: mint(installation, None, permissions)


async def test_search_finds_code(scene, read):
    await scene.server.commit(
        scene.repository, {"lib.py": "def parse(): ...\n"}, author=scene.people["ada"], message="m"
    )

    assert "- lib.py" in await read("search", query="def parse", of="code")


# --- tokens and trouble -------------------------------------------------------------------------


async def test_the_tokens_can_only_read_and_only_here(scene, read, job):
    await read("issue", number=1)
    await read("checks", ref="main")
    await read("log", number=job.id)

    for token in scene.server.tokens._live.values():
        assert set(token.permissions.values()) == {"read"}
        assert token.repositories == [scene.repository]
        assert REDACTED in scene.redactor.clean(token.text)


async def test_no_answer_holds_a_token(scene, read, pull, job):
    texts = [
        await read("issue", number=1),
        await read("pull_request", number=pull.issue.number, diff=True),
        await read("checks", ref="bot/fix"),
        await read("log", number=job.id),
    ]

    assert not [text for text in texts if TOKEN in text]


async def test_a_github_in_trouble_is_an_error_for_the_model(scene, read):
    await read("issue", number=1)
    scene.server.faults.status("GET", "/issues/2", 503, times=20)

    with pytest.raises(ToolError, match="cannot be read now"):
        await read("issue", number=2)


async def test_each_person_is_asked_about_once(scene, read):
    for title in ("Six a", "Six b", "Six c"):
        await scene.server.create_issue(scene.repository, scene.people["bob"], title)

    await read("search", query="six")
    await read("search", query="six")

    asked = scene.calls("GET", "/collaborators/bob/permission")
    assert len(asked) == 1
