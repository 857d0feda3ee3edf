"""GitHub's own descriptions judge the local GitHub: REST, webhooks and GraphQL."""

import hmac
import json
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import graphql
import jwt
import pytest
import sqlalchemy

from app.dispatch import Dispatcher
from app.inbox import Inbox
from app.intake import Identity, Intake
from app.local.github.graphql_api import schema
from app.metrics import Metrics
from app.server import Readiness, build_server
from app.store import tables
from app.store.database import Database

ROOT = Path(__file__).parents[2]
EXAMPLES = 329
EVERYTHING = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}


class Receiver:
    """Takes webhooks, as a server of an App would."""

    def __init__(self) -> None:
        self.taken: list[tuple[dict[str, str], bytes]] = []


@pytest.fixture
async def receiver(aiohttp_server) -> AsyncIterator[Receiver]:
    receiver = Receiver()

    async def take(request: aiohttp.web.Request) -> aiohttp.web.Response:
        receiver.taken.append((dict(request.headers), await request.read()))
        return aiohttp.web.Response(status=202)

    app = aiohttp.web.Application()
    app.router.add_post("/webhook", take)
    server = await aiohttp_server(app)
    receiver.url = str(server.make_url("/webhook"))
    return receiver


class Caller:
    """An App as an HTTP client: nothing of ours between it and the local GitHub."""

    def __init__(self, github, session, credential):
        self._github, self._session, self._credential = github, session, credential

    async def __call__(self, method, path, body=None, **more):
        headers = {"Authorization": f"Bearer {self._credential}"} | more.pop("headers", {})
        url = f"{self._github.url}/api/v3{path}"
        async with self._session.request(
            method, aiohttp.client.URL(url, encoded=True), json=body, headers=headers, **more
        ) as answer:
            text = await answer.read()
            return json.loads(text) if text else None


def app_jwt(credentials) -> str:
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + 540, "iss": credentials.client_id}
    return jwt.encode(claims, credentials.private_key, algorithm="RS256")


@pytest.fixture
async def scene(github, receiver):
    """An owner, a repository with an issue, an App installed on it."""
    owner = github.create_organization("forge")
    ada = github.create_user("ada", name="Ada Marsh")
    credentials = github.create_app(
        "mender", webhook_url=receiver.url, webhook_secret="s3cret", permissions=EVERYTHING
    )
    repository = await github.create_repository(owner, "anvil")
    github.set_role(repository, ada, "maintain")
    installation = await github.install(credentials.app_id, [repository])
    await github.create_issue(repository, ada, "It breaks", "Steps: …", labels=["bug"])
    branch = {"main.py": "print('hello')\n", "README.md": None}
    await github.commit(repository, branch, author=ada, message="Fix", branch="bot/fix")
    async with aiohttp.ClientSession() as session:
        as_app = Caller(github, session, app_jwt(credentials))
        wanted = {"repository_ids": [repository.id], "permissions": EVERYTHING}
        path = f"/app/installations/{installation.id}/access_tokens"
        token = (await as_app("POST", path, wanted))["token"]
        call = Caller(github, session, token)
        yield github, repository, ada, credentials, installation, as_app, call


async def make_every_call(scene):
    """Make each call that is served, most of them in more than one way."""
    github, repository, _, _, installation, as_app, call = scene
    await as_app("GET", "/app")
    await as_app("GET", "/app/installations")
    await as_app("GET", f"/app/installations/{installation.id}")
    await as_app("GET", "/repos/forge/anvil/installation")
    await as_app("GET", "/app/hook/config")
    await as_app("PATCH", "/app/hook/config", {"secret": "new"})
    deliveries = await as_app("GET", "/app/hook/deliveries?per_page=2&status=success")
    await as_app("GET", f"/app/hook/deliveries/{deliveries[0]['id']}")
    await as_app("POST", f"/app/hook/deliveries/{deliveries[0]['id']}/attempts")
    await as_app("GET", "/app/hook/deliveries/1")
    path = f"/app/installations/{installation.id}/access_tokens"
    spare = await as_app("POST", path)
    await Caller(github, call._session, spare["token"])("DELETE", "/installation/token")
    await Caller(github, call._session, spare["token"])("GET", "/repos/forge/anvil")
    await as_app("POST", path, {"permissions": {"administration": "write"}})
    for plain in ("/installation/repositories", "/users/ada", "/users/mender%5Bbot%5D"):
        await call("GET", plain)
    for plain in ("/users/nobody", "/meta", "/versions"):
        await call("GET", plain)
    await call("GET", f"/repositories/{repository.id}")
    await make_issue_calls(call)
    await make_git_calls(call)
    await make_pull_calls(call)
    await make_check_calls(call)


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
    await call("POST", f"{base}/issues/1/reactions", {"content": "eyes"})
    await call("POST", f"{base}/issues/1/reactions", {"content": "eyes"})
    await call("GET", f"{base}/issues/1/reactions")
    await call("POST", f"{base}/issues/1/labels", {"labels": ["bot:resolve", "bug"]})
    await call("GET", f"{base}/issues/1/labels")
    await call("DELETE", f"{base}/issues/1/labels/bot:resolve")
    await call("DELETE", f"{base}/issues/1/labels/bot:resolve")
    await call("POST", f"{base}/labels", {"name": "fresh", "color": "00ff00"})
    await call("POST", f"{base}/labels", {"name": "fresh", "color": "00ff00"})
    await call("GET", f"{base}/labels/fresh")
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
        "/contents/nothing",
        "/commits/bot%2Ffix",
    ):
        await call("GET", f"{base}{path}")


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
    for issue in (1, 2, number):
        await call("GET", f"{base}/issues/{issue}/timeline")
    await call("GET", f"{base}/issues/{number}")


async def make_check_calls(call):
    base = "/repos/forge/anvil"
    sha = (await call("GET", f"{base}/commits/bot%2Ffix"))["sha"]
    told = {"title": "At work", "summary": "…"}
    new = {"name": "mender", "head_sha": sha, "status": "in_progress", "output": told}
    run = await call("POST", f"{base}/check-runs", new)
    await call("PATCH", f"{base}/check-runs/{run['id']}", {"conclusion": "success"})
    await call("GET", f"{base}/check-runs/{run['id']}")
    await call("GET", f"{base}/commits/{sha}/check-runs?check_name=mender")
    await call("POST", f"{base}/statuses/{sha}", {"state": "pending", "context": "mender"})
    await call("GET", f"{base}/commits/{sha}/status")


# --- REST -----------------------------------------------------------------------------------------


def test_every_call_served_is_one_of_githubs(rest_referee):
    root_listing = ("get", "/repos/{}/{}/contents")  # described as contents/{path}, path empty
    assert rest_referee.undescribed == {root_listing}


async def test_every_request_and_answer_fits_githubs_description(scene, rest_referee):
    github = scene[0]
    await make_every_call(scene)
    problems = rest_referee.problems(github.requests)
    assert not problems, "\n".join(problems)
    judged = {
        rest_referee.operation_of(each) for each in github.requests if (each.status or 500) < 300
    }
    assert judged >= {(each.method, each.template) for each in rest_referee.operations}


async def test_the_referee_sees_what_is_wrong(scene, rest_referee):
    github, *_, call = scene
    await call("GET", "/repos/forge/anvil/issues/1")
    exchange = github.requests[-1]
    shape = json.loads(exchange.answer)
    del shape["node_id"]
    exchange.answer = json.dumps(shape | {"number": "1"}).encode()
    [problem, *_] = rest_referee.problems([exchange])
    assert "node_id" in problem
    assert "number" in problem


# --- webhooks -------------------------------------------------------------------------------------


async def test_every_webhook_sent_fits_githubs_description(scene, webhook_referee):
    github, repository, ada, credentials, installation, _, _ = scene
    await make_every_call(scene)
    await github.set_webhook(credentials.app_id, github.world.apps[credentials.app_id].webhook_url)
    await github.unlabel_issue(repository, 1, "bug", ada)
    await github.edit_issue(repository, 1, ada, title="It breaks often", body="More")
    await github.close_issue(repository, 1, ada)
    await github.reopen_issue(repository, 1, ada)
    more = {"main.py": "print('hello, world')\n"}
    await github.commit(repository, more, author=ada, message="More", branch="bot/fix")
    await github.suspend(installation, ada)
    await github.unsuspend(installation)
    await github.uninstall(installation)
    sent = {(each.event, json.loads(each.payload).get("action")) for each in github.webhooks.log}
    problems = webhook_referee.problems(github.webhooks.log)
    assert not problems, "\n".join(sorted(set(problems)))
    assert sent >= {
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
        ("pull_request", "edited"),
        ("pull_request", "labeled"),
        ("pull_request", "opened"),
        ("pull_request", "reopened"),
        ("pull_request", "synchronize"),
        ("push", None),
    }


# --- GraphQL --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_schema(packages):
    text = (packages / "graphql-schema" / "schema.graphql").read_text("utf-8")
    return graphql.build_schema(text, assume_valid=True, no_location=True)


def test_the_graphql_schema_is_a_part_of_githubs(real_schema):
    differences = [
        difference
        for name, ours in schema().type_map.items()
        if not name.startswith("__")
        for difference in differences_of(ours, real_schema.type_map.get(name))
    ]
    assert differences == []


def differences_of(ours, theirs):
    if type(ours) is not type(theirs):
        return [f"{ours}: {type(theirs)}"]
    if graphql.is_enum_type(ours):
        return sorted(set(ours.values) - set(theirs.values))
    if graphql.is_union_type(ours):
        return sorted({str(each) for each in ours.types} - {str(each) for each in theirs.types})
    found = []
    for name, field in getattr(ours, "fields", {}).items():
        real = theirs.fields.get(name)
        if real is None or str(real.type) != str(field.type):
            found.append(f"{ours}.{name}: {real and real.type}")
        elif arguments_of(field) - arguments_of(real) or required(real) - set(field.args):
            found.append(f"{ours}.{name}: {arguments_of(real)}")
    interfaces = {str(each) for each in getattr(ours, "interfaces", ())}
    return found + sorted(interfaces - {str(each) for each in getattr(theirs, "interfaces", ())})


def arguments_of(field):
    return {(name, str(each.type), str(each.default_value)) for name, each in field.args.items()}


def required(field):
    return {name for name, each in field.args.items() if graphql.is_required_argument(each)}


@pytest.mark.parametrize(
    "document", sorted((ROOT / "app" / "github").rglob("*.graphql")), ids=lambda path: path.stem
)
def test_the_documents_of_fettle_are_valid_there_and_here(document, real_schema):
    parsed = graphql.parse(document.read_text("utf-8"))
    assert graphql.validate(real_schema, parsed) == []
    assert graphql.validate(schema(), parsed) == []


# --- what GitHub has sent to others over the years ------------------------------------------------


def examples(packages) -> Iterator[tuple[str, dict]]:
    """Yield event and payload of every recorded delivery."""
    for folder in sorted((packages / "webhooks-examples" / "api.github.com").iterdir()):
        if folder.is_dir():
            for path in sorted(folder.glob("*.payload.json")):
                yield folder.name, json.loads(path.read_text("utf-8"))


class TakesAll:
    """An engine that remembers what it was handed."""

    def __init__(self) -> None:
        self.requests = []

    async def submit(self, run_id, request):
        self.requests.append(request)


async def test_no_recorded_delivery_harms_the_server(packages, tmp_path, aiohttp_client):
    database = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    database.migrate()
    inbox = Inbox(database, limit=10_000)
    await inbox.open()
    intake = Intake(["s3cret"], Identity())
    server = build_server(intake, inbox, database, Metrics(), Readiness(tmp_path))
    client = await aiohttp_client(server)
    statuses: Counter[int] = Counter()
    every = list(examples(packages))
    for event, payload in every:
        app_delivery = payload | {"installation": {"id": 7, "node_id": "x"}}
        for body in (json.dumps(payload).encode(), json.dumps(app_delivery).encode()):
            answer = await client.post("/webhook", data=body, headers=signed(event, body))
            statuses[answer.status] += 1
    engine = TakesAll()
    while await Dispatcher(database, inbox, engine).once():
        pass
    failed = await database.read(lambda c: c.execute(FAILED).all())
    database.close()
    assert len(every) == EXAMPLES
    assert set(statuses) == {200, 202, 204}
    assert statuses[200] == 2 * sum(event == "ping" for event, _ in every)
    assert failed == []


FAILED = sqlalchemy.select(tables.deliveries).where(tables.deliveries.c.state == "failed")


def signed(event: str, body: bytes) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": f"sha256={hmac.digest(b's3cret', body, 'sha256').hex()}",
    }
