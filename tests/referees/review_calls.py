"""The calls about reviews and checks, made as an App makes them, and what people do meanwhile."""

from __future__ import annotations

from app.simulator.github.state.checks import PartResult
from app.simulator.github.state.reviews import Inline

BASE = "/repos/forge/anvil"
THREADS = """
query($number: Int!, $after: String) {
  repository(owner: "forge", name: "anvil") {
    pullRequest(number: $number) {
      id state mergeable isCrossRepository maintainerCanModify headRefOid reviewDecision
      headRepository { nameWithOwner isFork parent { nameWithOwner } }
      headRepositoryOwner { login }
      reviews(first: 100, states: [COMMENTED, CHANGES_REQUESTED]) {
        totalCount
        nodes { id databaseId state body submittedAt url authorCanPushToRepository
          commit { oid } comments(first: 5) { totalCount }
          userContentEdits(first: 10) { totalCount nodes { editedAt diff editor { login } } } }
      }
      reviewThreads(first: 10, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated isCollapsed path line startLine originalLine originalStartLine
          diffSide startDiffSide subjectType resolvedBy { login }
          viewerCanResolve viewerCanUnresolve viewerCanReply
          comments(first: 10) {
            totalCount
            pageInfo { hasNextPage endCursor }
            nodes {
              id databaseId fullDatabaseId body diffHunk path line originalLine outdated url
              createdAt updatedAt lastEditedAt includesCreatedEdit isMinimized
              author { __typename login ... on User { databaseId } ... on Bot { databaseId } }
              replyTo { databaseId }
              commit { oid } originalCommit { oid }
              pullRequestReview { id databaseId state submittedAt }
              userContentEdits(first: 10) { nodes { editor { login } editedAt diff } }
            }
          }
        }
      }
    }
  }
}
"""
SETTLE = """
mutation($id: ID!) {
  resolveReviewThread(input: {threadId: $id}) { thread { isResolved resolvedBy { login } } }
}
"""
REOPEN = """
mutation($id: ID!) {
  unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } }
}
"""
ANSWER = """
mutation($id: ID!, $body: String!) {
  addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $id, body: $body}) {
    comment { databaseId replyTo { databaseId } pullRequestReview { state body } }
  }
}
"""
DOCUMENTS = (THREADS, SETTLE, REOPEN, ANSWER)


async def person_pull(scene):
    """Have a person open a pull request whose file has ten lines."""
    text = "".join(f"line {n}\n" for n in range(1, 11))
    await scene.github.commit(
        scene.repository, {"ten.txt": text}, author=scene.ada, message="Ten", branch="bot/ten"
    )
    about = {"title": "Ten lines", "head": "bot/ten", "body": "See #1"}
    return await scene.github.open_pull(scene.repository, scene.ada, **about)


async def make_review_calls(scene):
    """Make each call about reviews, most in more than one way."""
    call, github, ada = scene.call, scene.github, scene.ada
    bob = github.create_user("bob")
    github.set_role(scene.repository, bob, "write")
    pull = await person_pull(scene)
    base = f"{BASE}/pulls/{pull.issue.number}"
    review = await people_review(scene, pull, bob)
    await call("GET", f"{base}/reviews")
    await call("GET", f"{base}/reviews/{review.id}")
    await call("GET", f"{base}/reviews/{review.id}/comments")
    await call("GET", f"{base}/comments?sort=updated&direction=desc&since=2020-01-01T00:00:00Z")
    first = review.remarks[0].id
    await call("GET", f"{BASE}/pulls/comments/{first}")
    answer = await call("POST", f"{base}/comments/{first}/replies", {"body": "Will do"})
    await call("POST", f"{base}/comments/{answer['id']}/replies", {"body": "No"})
    await call("PATCH", f"{BASE}/pulls/comments/{answer['id']}", {"body": "Done"})
    for _ in range(2):
        await call("POST", f"{BASE}/pulls/comments/{first}/reactions", {"content": "eyes"})
    await call("GET", f"{BASE}/pulls/comments/{first}/reactions")
    place = {"commit_id": pull.head_sha, "path": "ten.txt", "side": "RIGHT"}
    made = await call("POST", f"{base}/comments", {**place, "body": "Here", "line": 3})
    await call("POST", f"{base}/comments", {**place, "body": "There", "line": 99})
    await call("DELETE", f"{BASE}/pulls/comments/{made['id']}")
    batch = {"path": "ten.txt", "body": "```suggestion\nx\n```", "start_line": 1, "line": 2}
    own = await call("POST", f"{base}/reviews", {"event": "COMMENT", "comments": [batch]})
    await call("POST", f"{base}/reviews", {"event": "COMMENT"})
    await call("PUT", f"{base}/reviews/{own['id']}", {"body": "In short"})
    await call("PUT", f"{base}/reviews/{review.id}/dismissals", {"message": "Done since"})
    await call("PUT", f"{base}/reviews/{own['id']}/dismissals", {"message": "Done since"})
    await call("POST", f"{base}/requested_reviewers", {"reviewers": ["bob"]})
    await call("POST", f"{base}/requested_reviewers", {"reviewers": ["ada"]})
    await call("GET", f"{base}/requested_reviewers")
    await call("DELETE", f"{base}/requested_reviewers", {"reviewers": ["bob"]})
    for _ in range(2):
        await call("GET", base)
    await settle_threads(scene, pull)
    await github.commit(scene.repository, {"main.txt": "new\n"}, author=ada, message="On main")
    await call("PUT", f"{base}/update-branch", {"expected_head_sha": pull.head_sha})
    await call("PUT", f"{base}/update-branch", {"expected_head_sha": "0" * 40})
    changed = "".join(f"line {n} now\n" for n in range(1, 11))
    files = {"ten.txt": changed}
    await github.commit(scene.repository, files, author=ada, message="New", branch="bot/ten")
    await call("GET", f"{base}/comments")
    await call("GET", f"{BASE}/issues/{pull.issue.number}/timeline")
    await github.merge_pull(pull, ada)
    for path in ("", "/merge"):
        await call("GET", f"{base}{path}")


async def people_review(scene, pull, bob):
    """Review as people do, and change it afterwards."""
    github, ada = scene.github, scene.ada
    await github.request_review(pull, bob, ada)
    said = [Inline("ten.txt", 2, "Why?"), Inline("ten.txt", 7, "All of it", start_line=5)]
    review = await github.submit_review(
        pull, bob, "Not yet.", state="CHANGES_REQUESTED", comments=said
    )
    thread = pull.threads[0]
    await github.reply(thread, ada, "Because.")
    more = [Inline("ten.txt", 9, "And here?")]
    await github.submit_review(pull, bob, comments=more, replies=[(thread, "I see.")])
    await github.edit_review(review, bob, "Not yet, I said.")
    await github.edit_remark(review.remarks[0], bob, "Why so?")
    gone = await github.reply(thread, bob, "Never mind")
    await github.delete_remark(gone, bob)
    await github.resolve_thread(pull.threads[1], bob)
    await github.unresolve_thread(pull.threads[1], bob)
    await github.comment(scene.repository, pull.issue.number, bob, "And the title?")
    return review


async def settle_threads(scene, pull):
    """Read threads, answer in one, settle and reopen it."""
    asked = {"query": THREADS, "variables": {"number": pull.issue.number}}
    answer = await scene.call.graphql(asked)
    assert "errors" not in answer, answer["errors"]
    found = answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"][0]
    for document in (SETTLE, REOPEN, ANSWER):
        variables = {"id": found["id"]} | ({"body": "So it is"} if document is ANSWER else {})
        answer = await scene.call.graphql({"query": document, "variables": variables})
        assert "errors" not in answer, answer["errors"]


async def make_actions_calls(scene):
    """Make each call about other people's checks."""
    call, github, repository = scene.call, scene.github, scene.repository
    files = {"w.py": "1\n"}
    sha = await github.commit(repository, files, author=scene.ada, message="w", branch="bot/w")
    await github.open_pull(repository, scene.ada, title="W", head="bot/w")
    results = [PartResult("lint"), PartResult("tests", "failure", "no\n", (("Run", "failure"),))]
    run = await github.complete_run(repository, sha, results, by=scene.ada)
    await github.complete_check(repository, sha, name="outside", conclusion="success", log=None)
    await github.set_status(repository, sha, "success", by=scene.ada)
    for path in ("", f"/{run.id}", f"/{run.id}/jobs", f"/{run.id}/jobs?filter=all"):
        await call("GET", f"{BASE}/actions/runs{path}")
    await call("GET", f"{BASE}/actions/runs?head_sha={sha}&status=failure&event=push&branch=bot/w")
    failed = run.latest[1].check
    await call("GET", f"{BASE}/actions/jobs/{failed.id}")
    await call("GET", f"{BASE}/actions/jobs/{failed.id}/logs", follow=False)
    await call("POST", f"{BASE}/actions/runs/{run.id}/rerun-failed-jobs")
    await call("GET", f"{BASE}/actions/runs/{run.id}")
    await call("GET", f"{BASE}/actions/runs/{run.id}/jobs")
    await call("POST", f"{BASE}/actions/runs/{run.id}/rerun-failed-jobs")
    await github.finish_rerun(run)
    suites = await call("GET", f"{BASE}/commits/{sha}/check-suites")
    await call("GET", f"{BASE}/check-suites/{suites['check_suites'][0]['id']}")
    await call("GET", f"{BASE}/check-suites/{suites['check_suites'][0]['id']}/check-runs")
    await call("GET", f"{BASE}/commits/{sha}/check-runs")


async def make_fork_calls(scene):
    """Make the calls about a pull request from a fork, before and after the fork is deleted."""
    github, eve = scene.github, scene.github.create_user("eve")
    fork = await github.fork_repository(scene.repository, eve)
    files = {"theirs.py": "1\n"}
    sha = await github.commit(fork, files, author=eve, message="Theirs", branch="theirs")
    pull = await github.open_pull(
        scene.repository, eve, title="Theirs", head="theirs", head_repository=fork
    )
    await github.complete_check(scene.repository, sha, name="t", conclusion="success", fork=fork)
    base = f"{BASE}/pulls/{pull.issue.number}"
    for deleted in (False, True):
        if deleted:
            await github.delete_repository(fork)
        for path in ("", "/files", "/commits"):
            await scene.call("GET", f"{base}{path}")
        await scene.call("PUT", f"{base}/update-branch", {})
    asked = {"query": THREADS, "variables": {"number": pull.issue.number}}
    answer = await scene.call.graphql(asked)
    assert answer["data"]["repository"]["pullRequest"]["headRepository"] is None
