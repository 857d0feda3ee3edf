"""Threads: where their line goes when the branch moves, who settles them, what is asked of many."""

import pytest

from app.simulator.github.accounts import Actor
from app.simulator.github.state.reviews import Inline
from tests.app.simulator.github.reviewing import comment_on_line, listen, open_ten, text

THREADS = """
query($number: Int!, $first: Int!, $after: String, $said: Int = 10) {
  repository(owner: "forge", name: "anvil") {
    pullRequest(number: $number) {
      reviewDecision
      reviewThreads(first: $first, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated isCollapsed path line startLine originalLine
          resolvedBy { login } viewerCanResolve viewerCanUnresolve viewerCanReply
          comments(first: $said) {
            totalCount
            pageInfo { hasNextPage endCursor }
            nodes {
              databaseId body includesCreatedEdit lastEditedAt replyTo { databaseId }
              author { __typename login }
              pullRequestReview { state submittedAt body }
              userContentEdits(first: 10) { totalCount nodes { diff editor { login } } }
            }
          }
        }
      }
    }
  }
}
"""
SETTLE = """
mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) {
  thread { isResolved resolvedBy { login } viewerCanUnresolve } } }
"""
REOPEN = """
mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }
"""
ANSWER = """
mutation($id: ID!, $body: String!) {
  addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $id, body: $body}) {
    comment { body replyTo { databaseId } pullRequestReview { state body } } } }
"""


@pytest.fixture
async def pull(scene):
    return await open_ten(scene)


@pytest.fixture
def bob(scene):
    bob = scene.github.create_user("bob")
    scene.github.set_role(scene.repository, bob, "write")
    return bob


@pytest.fixture
def ask(scene):
    async def ask(document, credential=None, **variables):
        call = scene.with_credential(credential or scene.token())
        sent = {"query": document, "variables": variables}
        return (await call("POST", f"{scene.github.url}/api/graphql", sent)).json

    return ask


@pytest.fixture
def threads(ask, pull):
    async def threads(credential=None):
        answer = await ask(THREADS, credential, number=pull.issue.number, first=100)
        return answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"]

    return threads


async def push(scene, content):
    files = {"ten.txt": content}
    return await scene.github.commit(
        scene.repository, files, author=scene.ada, message="More", branch="bot/ten"
    )


# --- lines ----------------------------------------------------------------------------------------


async def test_a_line_is_followed_and_lost_and_found_again(scene, pull, bob, threads):
    await comment_on_line(scene, pull, bob, "Why?", line=30)
    before = pull.head_sha
    await push(scene, "new\nnew\n" + text(_6="line six", _30="line thirty"))
    [thread] = await threads()
    assert (thread["line"], thread["originalLine"], thread["isOutdated"]) == (32, 30, False)
    path = f"{scene.base}/pulls/comments/{pull.threads[0].remarks[0].id}"
    moved = (await scene.call()("GET", path)).json
    assert (moved["line"], moved["original_line"]) == (32, 30)
    assert (moved["commit_id"], moved["original_commit_id"]) == (pull.head_sha, before)

    held = pull.head_sha
    await push(scene, text(_6="line six", _30="line XXX"))
    [thread] = await threads()
    assert (thread["line"], thread["originalLine"], thread["isOutdated"]) == (None, 30, True)
    lost = (await scene.call()("GET", path)).json
    assert (lost["line"], lost["position"], lost["original_line"]) == (None, None, 30)
    assert (lost["commit_id"], lost["diff_hunk"]) == (held, moved["diff_hunk"])

    await scene.github.push(scene.repository, "bot/ten", before, scene.ada)
    [thread] = await threads()
    assert (thread["line"], thread["isOutdated"]) == (30, False)


@pytest.mark.parametrize(
    ("content", "line", "start"),
    [
        (text(_6="line six", _30="line thirty", _20="far away"), 7, 5),
        ("top\n" + text(_6="line six", _30="line thirty"), 8, 6),
        (text(_5="line five", _6="line six", _30="line thirty"), None, None),
        (text(_6="line six\nand more", _30="line thirty"), None, None),
    ],
)
async def test_a_range_is_lost_when_any_of_its_lines_changes(scene, pull, *, content, line, start):
    inline = Inline("ten.txt", 7, "All of it", start_line=5)
    await scene.github.submit_review(pull, scene.owner, comments=[inline])
    await push(scene, content)
    [thread] = pull.threads
    assert (thread.line, thread.start_line, thread.original_start_line) == (line, start, 5)


async def test_a_line_that_leaves_the_diff_is_lost(scene, pull, bob):
    await comment_on_line(scene, pull, bob, "Why?", line=30)
    await push(scene, text(_6="line six"))
    assert pull.threads[0].outdated


async def test_a_file_that_goes_takes_its_threads(scene, pull, bob):
    await comment_on_line(scene, pull, bob, "Why?")
    gone = {"ten.txt": None, "eleven.txt": text()}
    await scene.github.commit(
        scene.repository, gone, author=scene.ada, message="Move", branch="bot/ten"
    )
    assert pull.threads[0].outdated


async def test_the_old_side_moves_with_the_base_only(scene, pull, bob):
    gone = Inline("ten.txt", 30, "Keep it", side="LEFT")
    await scene.github.submit_review(pull, bob, comments=[gone])
    await push(scene, "new\n" + text(_6="line six", _30="line thirty"))
    assert pull.threads[0].line == 30
    ada, files = scene.ada, {"ten.txt": "base\n" + text()}
    await scene.github.commit(scene.repository, files, author=ada, message="On main")
    assert pull.threads[0].line == 30  # the branch does not have it yet
    call, path = scene.call(), f"{scene.base}/pulls/{pull.issue.number}/update-branch"
    assert (await call("PUT", path, {})).status in (202, 422)


# --- settling -------------------------------------------------------------------------------------


async def test_threads_are_settled_by_who_may_write_contents(scene, pull, bob, ask, threads):
    await comment_on_line(scene, pull, bob, "Why?")
    thread = pull.threads[0]
    narrow = scene.token(pull_requests="write", contents="read")
    [seen] = await threads(narrow)
    assert (seen["viewerCanResolve"], seen["viewerCanReply"]) == (False, True)
    for document in (SETTLE, REOPEN):
        refused = await ask(document, narrow, id=thread.node_id)
        [name] = refused["data"]
        assert refused["data"][name] is None
        [error] = refused["errors"]
        assert (error["type"], error["path"]) == ("FORBIDDEN", [name])
        assert error["message"] == "Resource not accessible by integration"
    assert not thread.resolved

    for _ in range(2):
        answer = (await ask(SETTLE, id=thread.node_id))["data"]["resolveReviewThread"]
        assert answer["thread"] == {
            "isResolved": True,
            "resolvedBy": {"login": "mender[bot]"},
            "viewerCanUnresolve": True,
        }
    [seen] = await threads()
    assert (seen["isCollapsed"], seen["viewerCanResolve"]) == (True, False)
    assert (await ask(REOPEN, id=thread.node_id))["data"]["unresolveReviewThread"]["thread"] == {
        "isResolved": False
    }
    unknown = await ask(SETTLE, id="PRRT_nothing")
    assert unknown["errors"][0]["type"] == "NOT_FOUND"
    wrong = await ask(SETTLE, id=pull.node_id)
    assert wrong["errors"][0]["type"] == "NOT_FOUND"
    scene.repository.archived = True
    closed = await ask(SETTLE, id=thread.node_id)
    assert closed["errors"][0]["type"] == "FORBIDDEN"


async def test_people_settle_threads_and_webhooks_tell_it_once(scene, pull, bob, aiohttp_server):
    await comment_on_line(scene, pull, bob, "Why?")
    thread = pull.threads[0]
    await scene.github.reply(thread, scene.ada, "Because.")
    got = await listen(scene, aiohttp_server, ["pull_request_review_thread"])
    await scene.github.resolve_thread(thread, bob)
    await scene.github.resolve_thread(thread, scene.ada)
    assert thread.resolved_by is bob
    await scene.github.unresolve_thread(thread, scene.ada)
    assert [each["action"] for each in got] == ["resolved", "unresolved"]
    assert [each["body"] for each in got[0]["thread"]["comments"]] == ["Why?", "Because."]
    assert got[0]["thread"]["node_id"] == thread.node_id


async def test_an_answer_by_graphql_is_one_by_rest(scene, pull, bob, ask, threads):
    await comment_on_line(scene, pull, bob, "Why?")
    thread = pull.threads[0]
    made = await ask(ANSWER, id=thread.node_id, body="Because.")
    assert made["data"]["addPullRequestReviewThreadReply"]["comment"] == {
        "body": "Because.",
        "replyTo": {"databaseId": thread.remarks[0].id},
        "pullRequestReview": {"state": "COMMENTED", "body": ""},
    }
    [seen] = await threads()
    told = seen["comments"]["nodes"][1]
    assert told["author"] == {"__typename": "Bot", "login": "mender"}
    blank = await ask(ANSWER, id=thread.node_id, body=" ")
    assert blank["errors"][0]["type"] == "UNPROCESSABLE"
    reader = scene.token(pull_requests="read")
    assert (await ask(ANSWER, reader, id=thread.node_id, body="x"))["errors"][0]["type"] == (
        "FORBIDDEN"
    )


# --- edits and verdicts ---------------------------------------------------------------------------


async def test_what_was_submitted_can_still_be_read_after_an_edit(scene, pull, bob, threads):
    review = await comment_on_line(scene, pull, bob, "Rename it.")
    [seen] = await threads()
    [comment] = seen["comments"]["nodes"]
    assert comment["userContentEdits"] == {"totalCount": 0, "nodes": []}
    assert (comment["includesCreatedEdit"], comment["lastEditedAt"]) == (False, None)
    for body, editor in (("Delete it.", bob), ("Burn it.", scene.ada)):
        await scene.github.edit_remark(review.remarks[0], editor, body)
    [seen] = await threads()
    [comment] = seen["comments"]["nodes"]
    assert (comment["body"], comment["includesCreatedEdit"]) == ("Burn it.", True)
    edits = comment["userContentEdits"]
    assert [(each["diff"], each["editor"]["login"]) for each in edits["nodes"]] == [
        ("Burn it.", "ada"),
        ("Delete it.", "bob"),
        ("Rename it.", "bob"),
    ]


async def test_only_writers_decide_and_the_last_word_counts(scene, pull, bob, ask):
    eve = scene.github.create_user("eve")

    async def decision():
        answer = await ask(THREADS, number=pull.issue.number, first=1)
        return answer["data"]["repository"]["pullRequest"]["reviewDecision"]

    await scene.github.submit_review(pull, eve, "Yes!", state="APPROVED")
    assert await decision() is None
    review = await scene.github.submit_review(pull, bob, "No.", state="CHANGES_REQUESTED")
    await comment_on_line(scene, pull, bob, "Hm")
    assert await decision() == "CHANGES_REQUESTED"
    await scene.github.dismiss_review(review, scene.ada, "Done")
    assert await decision() is None
    await scene.github.submit_review(pull, bob, state="APPROVED")
    assert await decision() == "APPROVED"


TIMELINE = """
query($number: Int!) { repository(owner: "forge", name: "anvil") { pullRequest(number: $number) {
  state merged mergedBy { login }
  timelineItems(last: 20, itemTypes: [REVIEW_REQUESTED_EVENT, REVIEW_REQUEST_REMOVED_EVENT,
      PULL_REQUEST_REVIEW, REVIEW_DISMISSED_EVENT, MERGED_EVENT]) {
    nodes {
      __typename
      ... on ReviewRequestedEvent { requestedReviewer { ... on User { login } } }
      ... on PullRequestReview { state author { login } }
      ... on ReviewDismissedEvent { dismissalMessage review { state } }
    }
  } } } }
"""


async def test_the_timeline_tells_of_reviews(scene, pull, bob, ask):
    github, ada = scene.github, scene.ada
    await github.request_review(pull, bob, ada)
    await github.withdraw_request(pull, bob, ada)
    review = await github.submit_review(pull, bob, "No.", state="CHANGES_REQUESTED")
    await github.dismiss_review(review, ada, "Done")
    await github.merge_pull(pull, ada)

    answer = await ask(TIMELINE, number=pull.issue.number)
    shown = answer["data"]["repository"]["pullRequest"]
    assert (shown["state"], shown["merged"], shown["mergedBy"]) == (
        "MERGED",
        True,
        {"login": "ada"},
    )
    assert shown["timelineItems"]["nodes"] == [
        {"__typename": "ReviewRequestedEvent", "requestedReviewer": {"login": "bob"}},
        {"__typename": "ReviewRequestRemovedEvent"},
        {"__typename": "PullRequestReview", "state": "DISMISSED", "author": {"login": "bob"}},
        {
            "__typename": "ReviewDismissedEvent",
            "dismissalMessage": "Done",
            "review": {"state": "DISMISSED"},
        },
        {"__typename": "MergedEvent"},
    ]


# --- many -----------------------------------------------------------------------------------------


async def test_more_than_a_hundred_threads_and_comments_come_in_pages(scene, pull, bob, ask):
    comments = [Inline("ten.txt", 3 + n % 7, f"thread {n}") for n in range(130)]
    await scene.github.submit_review(pull, bob, comments=comments)
    for n in range(104):
        scene.github.parts.reviews.reply(pull.threads[0], Actor(bob), f"{n}")
    await scene.github.webhooks.wait_until_settled()

    seen, after = [], None
    while True:
        page = await ask(THREADS, number=pull.issue.number, first=100, after=after, said=100)
        found = page["data"]["repository"]["pullRequest"]["reviewThreads"]
        seen += found["nodes"]
        after = found["pageInfo"]["endCursor"]
        if not found["pageInfo"]["hasNextPage"]:
            break
    assert found["totalCount"] == 130
    assert [each["comments"]["nodes"][0]["body"] for each in seen] == [
        f"thread {n}" for n in range(130)
    ]
    first = seen[0]["comments"]
    assert (first["totalCount"], len(first["nodes"])) == (105, 100)
    assert first["pageInfo"]["hasNextPage"]
    rest = await ask(REST, id=seen[0]["id"], after=first["pageInfo"]["endCursor"])
    assert len(rest["data"]["node"]["comments"]["nodes"]) == 5
    call, path = scene.call(), f"{scene.base}/pulls/{pull.issue.number}/comments"
    sizes = [len((await call("GET", f"{path}?per_page=100&page={n}")).json) for n in (1, 2, 3, 4)]
    assert sizes == [100, 100, 34, 0]


REST = """
query($id: ID!, $after: String) { node(id: $id) { ... on PullRequestReviewThread {
  comments(first: 100, after: $after) { nodes { body } } } } }
"""


@pytest.mark.parametrize(
    ("first", "said_", "kind", "words"),
    [
        (101, 10, "EXCESSIVE_PAGINATION", "Requesting 101 records on the `reviewThreads`"),
        (
            100,
            101,
            "EXCESSIVE_PAGINATION",
            "`comments` connection exceeds the `first` limit of 100",
        ),
        (-1, 10, "INVALID_PAGINATION", "less than zero"),
    ],
)
async def test_nobody_gets_more_than_a_hundred_at_once(pull, ask, *, first, said_, kind, words):
    refused = await ask(THREADS, number=pull.issue.number, first=first, said=said_)
    assert "data" not in refused
    assert refused["errors"][0]["type"] == kind
    assert words in refused["errors"][0]["message"]


async def test_a_document_cannot_ask_for_half_a_million(pull, ask):
    inner = "comments(first: 100) { nodes { userContentEdits(first: 100) { nodes { diff } } } }"
    document = f"""query {{ repository(owner: "forge", name: "anvil") {{ pullRequest(number: 2) {{
        reviewThreads(first: 100) {{ nodes {{ {inner} }} }} }} }} }}"""
    refused = await ask(document)
    assert refused["errors"][0]["type"] == "MAX_NODE_LIMIT_EXCEEDED"
    assert "1,010,100 possible nodes" in refused["errors"][0]["message"]


async def test_a_cursor_of_ones_own_is_refused(pull, ask):
    refused = await ask(THREADS, number=pull.issue.number, first=1, after="3")
    assert refused["errors"][0]["type"] == "INVALID_CURSOR_ARGUMENTS"


async def test_threads_are_not_for_tokens_without_pull_requests(scene, pull, bob, ask):
    await comment_on_line(scene, pull, bob, "Why?")
    blind = scene.token(contents="write")
    refused = await ask(REST, blind, id=pull.threads[0].node_id)
    assert refused["errors"][0]["type"] == "FORBIDDEN"
