"""GitHub's own descriptions judge what the local GitHub answers and sends, and what Fettle asks."""

import base64
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp

from agents.requests import Person
from app.github.access.issue_facts import issue_facts
from app.github.reporting.reporter import GitHubReporter
from app.github.transport.client import GitHub
from app.github.transport.tokens import Profile
from app.secrets.redaction import Redactor
from app.simulator.github.gitdir import GitDir
from tests.fakes.requests import build_repository, build_resolve_issue
from tests.referees.alert_calls import make_alert_calls
from tests.referees.link_calls import make_link_calls
from tests.referees.review_calls import make_actions_calls, make_review_calls

DOCUMENTS = Path(__file__).parents[2] / "app" / "github" / "graphql"


async def register_app(scene):
    """Register an App by its manifest, as a browser does; return the code that GitHub gives."""
    manifest = {
        "name": "Another",
        "url": "https://example.org",
        "redirect_url": "http://127.0.0.1:1/back",
        "hook_attributes": {"url": "https://example.org/webhook"},
        "default_permissions": {"issues": "write"},
        "default_events": ["issues"],
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{scene.github.url}/settings/apps/new?state=x",
            data={"manifest": json.dumps(manifest)},
            allow_redirects=False,
        ) as answer,
    ):
        return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


async def make_sign_in_calls(scene):
    """Sign in through the App as somebody, and have the token taken back."""
    app = scene.github.world.apps[scene.credentials.app_id]
    app.callback_urls.append("http://127.0.0.1/back")
    client = {"client_id": app.client_id, "client_secret": app.client_secret}
    page = f"{scene.github.url}/login/oauth/authorize?client_id={app.client_id}&login=ada&state=x"
    exchange = f"{scene.github.url}/login/oauth/access_token"
    async with aiohttp.ClientSession() as session:
        async with session.get(page, allow_redirects=False) as answer:
            code = parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]
        async with session.post(exchange, data={**client, "code": code}) as answer:
            token = (await answer.json())["access_token"]
    theirs = scene.call.with_credential(token)
    await theirs("GET", "/user")
    pair = base64.b64encode(f"{app.client_id}:{app.client_secret}".encode()).decode()
    own = scene.call.with_credential(pair, "Basic")
    for _ in range(2):
        await own("DELETE", f"/applications/{app.client_id}/token", {"access_token": token})
    await theirs("GET", "/user")


async def make_every_call(scene):
    """Make each call that is served, most of them in more than one way."""
    repository, installation = scene.repository, scene.installation
    as_app, call = scene.as_app, scene.call
    await as_app("GET", "/app")
    await as_app("POST", "/app-manifests/unknown/conversions")
    await as_app("POST", f"/app-manifests/{await register_app(scene)}/conversions")
    await as_app("GET", "/app/installations")
    await as_app("GET", f"/app/installations/{installation.id}")
    own = await scene.github.create_repository(scene.ada, "toys")
    await scene.github.install(scene.credentials.app_id, [own])
    for place in ("repos/forge/anvil", "orgs/forge", "users/ada", "users/forge"):
        await as_app("GET", f"/{place}/installation")
    await as_app("GET", "/app/hook/config")
    await as_app("PATCH", "/app/hook/config", {"secret": "new"})
    deliveries = await as_app("GET", "/app/hook/deliveries?per_page=2&status=success")
    await as_app("GET", f"/app/hook/deliveries/{deliveries[0]['id']}")
    await as_app("POST", f"/app/hook/deliveries/{deliveries[0]['id']}/attempts")
    await as_app("GET", "/app/hook/deliveries/1")
    path = f"/app/installations/{installation.id}/access_tokens"
    spare = await as_app("POST", path)
    ended = call.with_credential(spare["token"])
    await ended("DELETE", "/installation/token")
    await ended("GET", "/repos/forge/anvil")
    await as_app("POST", path, {"permissions": {"administration": "write"}})
    for plain in ("/installation/repositories", "/users/ada", "/users/mender%5Bbot%5D"):
        await call("GET", plain)
    for plain in ("/users/nobody", "/meta", "/versions", "/rate_limit"):
        await call("GET", plain)
    await call("GET", f"/repositories/{repository.id}")
    await make_sign_in_calls(scene)
    await make_issue_calls(call)
    for repository.requires_signatures in (True, False):
        await call("GET", "/repos/forge/anvil/rules/branches/bot/fix")
    await make_git_calls(call)
    await make_pull_calls(call)
    await make_check_calls(call)
    await make_reading_calls(scene)
    await make_link_calls(scene)
    await make_review_calls(scene)
    await make_actions_calls(scene)
    await make_alert_calls(scene)
    await make_stack_calls(scene)


async def make_issue_calls(call):
    base = "/repos/forge/anvil"
    await call("GET", f"{base}/issues?state=all&labels=bug&per_page=1")
    await call("POST", f"{base}/issues", {"title": "Another", "body": "b", "labels": ["new"]})
    await call("PATCH", f"{base}/issues/2", {"state": "closed", "state_reason": "not_planned"})
    await call("PATCH", f"{base}/issues/2", {"title": "Renamed", "state": "open"})
    comment = await call("POST", f"{base}/issues/1/comments", {"body": "At work"})
    await call("GET", f"{base}/issues/1/comments")
    await call("GET", f"{base}/issues/comments/{comment['id']}")
    await call("PATCH", f"{base}/issues/comments/{comment['id']}", {"body": "Done"})
    await call("POST", f"{base}/issues/comments/{comment['id']}/reactions", {"content": "eyes"})
    await call("GET", f"{base}/issues/comments/{comment['id']}/reactions")
    await call("POST", f"{base}/issues/1/reactions", {"content": "eyes"})
    await call("POST", f"{base}/issues/1/reactions", {"content": "eyes"})
    await call("GET", f"{base}/issues/1/reactions")
    await call("POST", f"{base}/issues/1/labels", {"labels": ["bot:resolve", "bug"]})
    await call("GET", f"{base}/issues/1/labels")
    await call("POST", f"{base}/issues/1/assignees", {"assignees": ["ada", "nobody"]})
    await call("DELETE", f"{base}/issues/1/labels/bot:resolve")
    await call("DELETE", f"{base}/issues/1/labels/bot:resolve")
    await call("POST", f"{base}/labels", {"name": "fresh", "color": "00ff00"})
    await call("POST", f"{base}/labels", {"name": "fresh", "color": "00ff00"})
    await call("GET", f"{base}/labels/fresh")
    await call("GET", f"{base}/labels")
    await call("PATCH", f"{base}/labels/fresh", {"description": "New"})
    await call("GET", f"{base}/issues/1")
    await call("GET", f"{base}/issues/77")
    gone = await call("POST", f"{base}/issues/1/comments", {"body": "Never mind"})
    await call("DELETE", f"{base}/issues/comments/{gone['id']}")


async def make_git_calls(call):
    base = "/repos/forge/anvil"
    for path in (
        "",
        "/collaborators/ada/permission",
        "/branches",
        "/branches/bot%2Ffix",
        "/branches/none",
        "/git/ref/heads/bot/fix",
        "/git/matching-refs/heads/bot",
        "/contents/README.md?ref=main",
        "/contents",
        "/contents/nothing",
        "/commits/bot%2Ffix",
    ):
        await call("GET", f"{base}{path}")
    head = await call("GET", f"{base}/commits/bot%2Ffix")
    wanted = {"message": "Again", "tree": head["commit"]["tree"]["sha"], "parents": [head["sha"]]}
    made = await call("POST", f"{base}/git/commits", wanted)
    assert made["verification"]["verified"]
    named = {"name": "Ada", "email": "ada@example.com"}
    unsigned = await call("POST", f"{base}/git/commits", {**wanted, "author": named})
    assert not unsigned["verification"]["verified"]
    await call("POST", f"{base}/git/commits", {**wanted, "tree": head["sha"]})
    await call("POST", f"{base}/git/commits", {**wanted, "parents": ["0" * 40]})
    await call("DELETE", f"{base}/git/refs/heads/bot/none")
    await call("DELETE", f"{base}/git/refs/heads/main")


async def make_pull_calls(call):
    base = "/repos/forge/anvil"
    wanted = {"title": "Mend it", "head": "bot/fix", "base": "main", "body": "Resolves #1"}
    pull = await call("POST", f"{base}/pulls", {**wanted, "draft": True})
    await call("POST", f"{base}/pulls", wanted)
    await call("POST", f"{base}/pulls", {**wanted, "head": "bot/none"})
    await call("POST", f"{base}/pulls", {**wanted, "head": "main"})
    await call("GET", f"{base}/pulls?head=forge:bot/fix&state=all")
    number = pull["number"]
    for path in ("", "/commits", "/files"):
        await call("GET", f"{base}/pulls/{number}{path}")
    await call("PATCH", f"{base}/pulls/{number}", {"title": "Mend it well", "body": "Now"})
    await call("POST", f"{base}/issues/{number}/labels", {"labels": ["bug"]})
    await call("POST", f"{base}/issues/{number}/comments", {"body": "A word"})
    await call("PATCH", f"{base}/pulls/{number}", {"state": "closed"})
    await call("PATCH", f"{base}/pulls/{number}", {"state": "open"})
    await ready(call, pull["node_id"])
    for issue in (1, 2, number):
        await call("GET", f"{base}/issues/{issue}/timeline")
    await call("GET", f"{base}/issues/{number}")


async def make_stack_calls(scene):
    call, base = scene.call, "/repos/forge/anvil"
    [lower] = await call("GET", f"{base}/pulls?head=forge:bot/fix&state=all")
    number = lower["number"]
    tip = (await call("GET", f"{base}/git/ref/heads/bot/fix"))["object"]["sha"]
    commit = await call("GET", f"{base}/commits/{tip}")
    tree = commit["commit"]["tree"]["sha"]
    wanted = {"message": "More", "tree": tree, "parents": [tip]}
    sha = (await call("POST", f"{base}/git/commits", wanted))["sha"]
    await GitDir(scene.repository.gitdir).update_ref("refs/heads/bot/more", sha)
    above = {"title": "More", "head": "bot/more", "base": "bot/fix", "body": ""}
    upper = (await call("POST", f"{base}/pulls", above))["number"]
    for numbers in ([number, upper], [upper, number], [number, 999], [number]):
        await call("POST", f"{base}/stacks", {"pull_requests": numbers})
    for query in (f"?pull_request={number}", "?pull_request=999", "?pull_request=x", ""):
        await call("GET", f"{base}/stacks{query}")
    await call("DELETE", f"{base}/git/refs/heads/bot/more")


async def ready(call, node_id):
    """End a draft, which only GraphQL can."""
    document = DOCUMENTS / "pull_ready.graphql"
    body = {"query": document.read_text("utf-8"), "variables": {"id": node_id}}
    answer = await call.graphql(body)
    assert "data" in answer, answer
    marked = answer["data"]["markPullRequestReadyForReview"]
    assert marked == {"pullRequest": {"isDraft": False}}


async def make_check_calls(call):
    base = "/repos/forge/anvil"
    sha = (await call("GET", f"{base}/commits/bot%2Ffix"))["sha"]
    told = {"title": "At work", "summary": "…"}
    new = {"name": "mender", "head_sha": sha, "status": "in_progress", "output": told}
    run = await call("POST", f"{base}/check-runs", new)
    button = {"label": "Approve", "description": "Go on", "identifier": "approve:k3f9x2"}
    asking = {"conclusion": "action_required", "actions": [button]}
    await call("PATCH", f"{base}/check-runs/{run['id']}", asking)
    await call("PATCH", f"{base}/check-runs/{run['id']}", {"conclusion": "success"})
    await call("GET", f"{base}/check-runs/{run['id']}")
    await call("GET", f"{base}/commits/{sha}/check-runs?check_name=mender")
    await call("POST", f"{base}/statuses/{sha}", {"state": "pending", "context": "mender"})
    await call("GET", f"{base}/commits/{sha}/status")


async def make_reading_calls(scene):
    base, call = "/repos/forge/anvil", scene.call
    [pull] = [each for each in scene.repository.issues.values() if each.pull]
    sha = pull.pull.head_sha
    await scene.github.push(scene.repository, "bot/scratch", sha, pull.author.account)
    await call("DELETE", f"{base}/git/refs/heads/bot/scratch")
    await call("GET", f"{base}/commits/{sha}/branches-where-head")
    await call("GET", f"{base}/compare/main...bot%2Ffix")
    await call("GET", "/search/issues?q=%22breaks%22%20repo:forge/anvil%20is:issue")
    await call("GET", "/search/issues?q=repo:forge/anvil%20is:pr")
    await call("GET", "/search/issues?q=breaks")
    await call("GET", "/search/code?q=%22hello%22%20repo:forge/anvil")
    await call("GET", "/search/code?q=anvil")


# --- REST -----------------------------------------------------------------------------------------


def test_every_call_served_is_one_of_githubs(rest_referee):
    assert rest_referee.undescribed == set()


async def test_every_request_and_answer_fits_githubs_description(scene, rest_referee):
    await make_every_call(scene)
    problems = rest_referee.problems(scene.github.requests)
    assert not problems, "\n".join(problems)
    judged = {
        rest_referee.operation_of(each)
        for each in scene.github.requests
        if (each.status or 500) < 400
    }
    assert judged >= {(each.method, each.template) for each in rest_referee.operations}


async def test_what_fettle_itself_asks_fits_githubs_description(scene, rest_referee):
    github, repository, ada = scene.github, scene.repository, scene.ada
    credentials, installation = scene.credentials, scene.installation
    asked_by = Person(id=ada.id, login="ada")
    where = build_repository(id=repository.id, owner="forge", name="anvil")
    issue = repository.issues[1]
    request = build_resolve_issue(
        installation_id=installation.id,
        repository=where,
        number=1,
        title=issue.title,
        body=issue.body,
        author=asked_by,
        asked_by=asked_by,
        label="bug",
        url=f"{github.url}/forge/anvil/issues/1",
    )
    before, redactor = len(github.requests), Redactor()
    app = {"app_id": credentials.app_id, "private_key": credentials.private_key}
    async with GitHub.open(github_url=github.url, redactor=redactor, write_spacing=0, **app) as us:
        reading = await us.installation(installation.id, repository.id, Profile.READ)
        assert (await us.identity(reading)).bot.id == credentials.bot_id
        facts = await issue_facts(reading, request)
        reporter = GitHubReporter(us, request, "run-1", redactor, remember=forget)
        await reporter.acknowledge()
        reporter.stage_started("triage/1", "Read the issue")
        await reporter.flush()
    asked = github.requests[before:]
    assert (facts.role_name, facts.issue_open) == ("maintain", True)
    assert [face.content for face in issue.reactions] == ["eyes"]
    assert len(asked) > 5
    problems = rest_referee.problems(asked)
    assert not problems, "\n".join(problems)


async def press_a_button(scene):
    """Press a button on the open pull request, so that all that goes with it is sent."""
    repository, branch = scene.repository, "/repos/forge/anvil/commits/bot%2Ffix"
    sha = (await scene.call("GET", branch))["sha"]
    button = {"label": "Deny", "description": "Stop", "identifier": "deny:k3f9x2"}
    new = {"name": "ask", "head_sha": sha, "conclusion": "action_required", "actions": [button]}
    made = await scene.call("POST", "/repos/forge/anvil/check-runs", new)
    assert made["pull_requests"]
    run = repository.check_runs[made["id"]]
    await scene.github.press_button(repository, run, "Deny", scene.ada)


async def forget(_comment_id: int) -> None:
    """Nobody needs the number here."""


async def test_the_referee_sees_what_is_wrong(scene, rest_referee):
    await scene.call("GET", "/repos/forge/anvil/issues/1")
    exchange = scene.github.requests[-1]
    shape = json.loads(exchange.answer)
    del shape["node_id"]
    exchange.answer = json.dumps(shape | {"number": "1"}).encode()
    [problem, *_] = rest_referee.problems([exchange])
    assert "node_id" in problem
    assert "number" in problem


# --- webhooks -------------------------------------------------------------------------------------


async def test_every_webhook_sent_fits_githubs_description(scene, webhook_referee):
    github, repository, ada = scene.github, scene.repository, scene.ada
    credentials, installation = scene.credentials, scene.installation
    await make_every_call(scene)
    await github.set_webhook(credentials.app_id, github.world.apps[credentials.app_id].webhook_url)
    await github.unlabel_issue(repository, 1, "bug", ada)
    await github.edit_issue(repository, 1, ada, title="It breaks often", body="More")
    await github.close_issue(repository, 1, ada)
    await github.reopen_issue(repository, 1, ada)
    pull = [*repository.pulls()][-1]
    for draft in (False, True):
        await github.set_draft(pull, ada, draft=draft)
    more = {"main.py": "print('hello, world')\n"}
    await github.commit(repository, more, author=ada, message="More", branch="bot/fix")
    await press_a_button(scene)
    await github.suspend(installation, ada)
    await github.unsuspend(installation)
    await github.uninstall(installation)
    sent = {(each.event, json.loads(each.payload).get("action")) for each in github.webhooks.log}
    problems = webhook_referee.problems(github.webhooks.log)
    assert not problems, "\n".join(sorted(set(problems)))
    assert sent >= {
        ("check_run", "requested_action"),
        ("installation", "created"),
        ("installation", "deleted"),
        ("issue_comment", "created"),
        ("issue_comment", "deleted"),
        ("issue_comment", "edited"),
        ("issues", "closed"),
        ("issues", "edited"),
        ("issues", "labeled"),
        ("issues", "opened"),
        ("issues", "reopened"),
        ("issues", "unlabeled"),
        ("ping", None),
        ("pull_request", "closed"),
        ("pull_request", "converted_to_draft"),
        ("pull_request", "edited"),
        ("pull_request", "labeled"),
        ("pull_request", "opened"),
        ("pull_request", "ready_for_review"),
        ("pull_request", "reopened"),
        ("pull_request", "synchronize"),
        ("push", None),
    }
