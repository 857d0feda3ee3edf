"""The GraphQL endpoint: what a careful bot asks, and how it is refused."""

import pytest

FACTS = """
query($number: Int!) {
  repository(owner: "forge", name: "anvil") {
    databaseId
    defaultBranchRef { name prefix target { oid } }
    issueOrPullRequest(number: $number) {
      __typename
      ... on Issue {
        state title body lastEditedAt
        editor { login }
        author { __typename login }
        labels(first: 10) { totalCount nodes { name } }
        comments(last: 1) { nodes { body author { __typename login } } }
        timelineItems(last: 5, itemTypes: [RENAMED_TITLE_EVENT, ISSUE_COMMENT]) {
          nodes {
            __typename
            ... on RenamedTitleEvent { previousTitle currentTitle actor { login } }
          }
        }
      }
      ... on PullRequest { isDraft headRefName mergeable }
    }
  }
}
"""


@pytest.fixture
def ask(scene):
    async def ask(document, credential=None, **variables):
        call = scene.with_credential(credential or scene.token())
        sent = {"query": document, "variables": variables}
        return await call("POST", f"{scene.github.url}/api/graphql", sent)

    return ask


async def test_what_a_careful_bot_asks_before_it_acts(scene, ask):
    github, repository = scene.github, scene.repository
    before = (await ask(FACTS, number=1)).json["data"]["repository"]["issueOrPullRequest"]
    assert before["lastEditedAt"] is None
    await github.edit_issue(repository, 1, scene.owner, title="It bends", body="New")
    await scene.call()("POST", f"{scene.base}/issues/1/comments", {"body": "hm"})
    found = (await ask(FACTS, number=1)).json["data"]["repository"]
    assert found["databaseId"] == repository.id
    assert (found["defaultBranchRef"]["name"], found["defaultBranchRef"]["prefix"]) == (
        "main",
        "refs/heads/",
    )
    issue = found["issueOrPullRequest"]
    assert (issue["state"], issue["body"], issue["editor"]["login"]) == ("OPEN", "New", "forge")
    assert issue["lastEditedAt"]
    assert issue["labels"] == {"totalCount": 1, "nodes": [{"name": "bug"}]}
    assert issue["comments"]["nodes"][0]["author"] == {"__typename": "Bot", "login": "mender"}
    [renamed, comment] = issue["timelineItems"]["nodes"]
    assert (renamed["previousTitle"], renamed["currentTitle"]) == ("It breaks", "It bends")
    assert comment["__typename"] == "IssueComment"


async def test_pull_requests_are_their_own_type(scene, ask):
    files = {"main.py": "1\n"}
    await scene.github.commit(
        scene.repository, files, author=scene.ada, message="m", branch="bot/fix"
    )
    wanted = {"title": "Mend", "head": "bot/fix", "base": "main", "draft": True}
    await scene.call()("POST", f"{scene.base}/pulls", wanted)
    first = (await ask(FACTS, number=2)).json["data"]["repository"]["issueOrPullRequest"]
    assert first["mergeable"] == "UNKNOWN"  # as on GitHub, which finds out once somebody asks
    found = (await ask(FACTS, number=2)).json["data"]["repository"]["issueOrPullRequest"]
    assert found == {
        "__typename": "PullRequest",
        "isDraft": True,
        "headRefName": "bot/fix",
        "mergeable": "MERGEABLE",
    }


READY = """
mutation($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id, clientMutationId: "x"}) {
    clientMutationId
    pullRequest {
      isDraft
      timelineItems(last: 5, itemTypes: [READY_FOR_REVIEW_EVENT, CONVERT_TO_DRAFT_EVENT]) {
        nodes {
          __typename
          ... on ReadyForReviewEvent { actor { login } }
          ... on ConvertToDraftEvent { actor { login } }
        }
      }
    }
  }
}
"""


async def test_a_draft_is_ended_by_who_may_write_contents_as_well(scene, ask):
    github, repository = scene.github, scene.repository
    await github.commit(repository, {"m": "1"}, author=scene.ada, message="m", branch="bot/fix")
    wanted = {"title": "Mend", "head": "bot/fix", "base": "main", "draft": True}
    made = (await scene.call()("POST", f"{scene.base}/pulls", wanted)).json
    narrow = scene.token(pull_requests="write", contents="read")
    for denied in (
        await ask(READY, narrow, id=made["node_id"]),
        await ask(READY, id="PR_nobody"),
        await ask(READY, id=repository.issues[1].node_id),
    ):
        assert denied.json["errors"][0]["type"] in {"FORBIDDEN", "NOT_FOUND"}
    pull = repository.issues[made["number"]].pull
    assert pull.draft

    for _ in range(2):
        answer = (await ask(READY, id=made["node_id"])).json["data"]
        found = answer["markPullRequestReadyForReview"]
        assert (found["clientMutationId"], found["pullRequest"]["isDraft"]) == ("x", False)
    await github.set_draft(pull, scene.ada, draft=True)

    events = (await ask(READY, id=made["node_id"])).json["data"]
    nodes = events["markPullRequestReadyForReview"]["pullRequest"]["timelineItems"]["nodes"]
    assert [(node["__typename"], node["actor"]["login"]) for node in nodes] == [
        ("ReadyForReviewEvent", "mender"),
        ("ConvertToDraftEvent", "ada"),
        ("ReadyForReviewEvent", "mender"),
    ]


async def test_refusals_come_with_status_200(scene, ask):
    missing = await ask(FACTS, number=77)
    assert missing.status == 200
    assert missing.json["errors"][0]["type"] == "NOT_FOUND"
    assert missing.json["data"]["repository"]["issueOrPullRequest"] is None
    blind = await ask(FACTS, scene.token(contents="read"), number=1)
    assert blind.json["errors"][0]["type"] == "FORBIDDEN"
    hidden = 'query { repository(owner: "forge", name: "none") { id } }'
    assert (await ask(hidden)).json["data"] == {"repository": None}
    misspelt = await ask('query { repository(owner: "forge", name: "anvil") { nme } }')
    assert "nme" in misspelt.json["errors"][0]["message"]
    assert "data" not in misspelt.json


async def test_lists_must_say_how_much_they_want(ask):
    document = """query { repository(owner: "forge", name: "anvil") {
        issue(number: 1) { labels { nodes { name } } } } }"""
    refused = (await ask(document)).json
    assert refused["errors"][0]["type"] == "MISSING_PAGINATION_BOUNDARIES"
    assert "first" in refused["errors"][0]["message"]
    assert "data" not in refused


async def test_nobody_asks_without_a_token(scene):
    answer = await scene.with_credential(None)("POST", f"{scene.github.url}/api/graphql", {})
    assert answer.status == 401


async def test_viewer_is_the_bot(ask):
    viewer = await ask("query { viewer { login } rateLimit { limit } }")
    assert viewer.json["data"]["viewer"]["login"] == "mender[bot]"
