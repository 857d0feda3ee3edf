"""Reviews: what people and Apps say about lines, what is refused, what the webhooks tell."""

import json
from datetime import timedelta

import pytest

from app.simulator.github.answers import ApiError
from app.simulator.github.state.reviews import Inline
from tests.app.simulator.github.reviewing import comment_on_line, listen, open_ten

EVENTS = ("pull_request", "pull_request_review", "pull_request_review_comment")


@pytest.fixture
async def pull(scene):
    return await open_ten(scene)


@pytest.fixture
def path(scene, pull):
    return f"{scene.base}/pulls/{pull.issue.number}"


@pytest.fixture
def bob(scene):
    bob = scene.github.create_user("bob")
    scene.github.set_role(scene.repository, bob, "write")
    return bob


async def test_a_review_with_comments_is_read_in_parts(scene, pull, path, bob):
    comments = [Inline("ten.txt", 6, "Why?"), Inline("ten.txt", 7, "Both", start_line=5)]
    review = await scene.github.submit_review(
        pull, bob, "Not yet.", state="CHANGES_REQUESTED", comments=comments
    )

    call = scene.call()
    [listed] = (await call("GET", f"{path}/reviews")).json
    assert listed == (await call("GET", f"{path}/reviews/{review.id}")).json
    assert (listed["state"], listed["body"], listed["user"]["login"]) == (
        "CHANGES_REQUESTED",
        "Not yet.",
        "bob",
    )
    assert listed["commit_id"] == pull.head_sha
    one, two = (await call("GET", f"{path}/comments")).json
    assert (
        one["diff_hunk"] == "@@ -3,7 +3,7 @@ line 2\n line 3\n line 4\n line 5\n-line 6\n+line six"
    )
    assert (one["line"], one["side"], one["start_line"], one["position"]) == (6, "RIGHT", None, 5)
    assert (two["line"], two["start_line"], two["start_side"]) == (7, 5, "RIGHT")
    of_review = (await call("GET", f"{path}/reviews/{review.id}/comments")).json
    assert [each["id"] for each in of_review] == [one["id"], two["id"]]
    assert (await call("GET", f"{scene.base}/pulls/comments/{two['id']}")).json == two
    for missing in (f"{path}/reviews/1", f"{scene.base}/pulls/comments/1", f"{path}/reviews/x"):
        assert (await call("GET", missing)).status == 404


async def test_the_old_side_can_be_meant(scene, pull, bob):
    gone = Inline("ten.txt", 6, "Keep it", side="LEFT")
    review = await scene.github.submit_review(pull, bob, comments=[gone])

    hunk = review.remarks[0].thread.original.hunk
    assert hunk.endswith("\n-line 6")


@pytest.mark.parametrize(
    ("inline", "reason"),
    [
        (Inline("ten.txt", 1, "x"), "Line could not be resolved"),
        (Inline("ten.txt", 99, "x"), "Line could not be resolved"),
        (Inline("other.txt", 6, "x"), "Path could not be resolved"),
        (Inline("ten.txt", 6, "x", start_line=6), "must precede the end line"),
        (Inline("ten.txt", 6, "x", start_line=1), "Start line could not be resolved"),
        (Inline("ten.txt", 30, "x", start_line=6), "same hunk"),
    ],
)
async def test_lines_outside_the_diff_cannot_be_commented_on(scene, pull, path, inline, reason):
    with pytest.raises(ApiError) as refused:
        await scene.github.submit_review(pull, scene.owner, comments=[inline])
    assert reason in refused.value.errors[0]
    sent = {"path": inline.path, "line": inline.line, "body": "x"}
    sent |= {"start_line": inline.start_line} if inline.start_line else {}
    batch = {"event": "COMMENT", "body": "b", "comments": [sent]}
    answer = await scene.call()("POST", f"{path}/reviews", batch)
    assert (answer.status, reason in answer.json["errors"][0]) == (422, True)
    alone = await scene.call()("POST", f"{path}/comments", {**sent, "commit_id": pull.head_sha})
    assert alone.status == 422
    assert alone.json["errors"][0]["field"].startswith("pull_request_review_thread.")
    assert pull.reviews == []


async def test_each_reply_is_wrapped_in_an_empty_review(scene, pull, path, bob):
    await comment_on_line(scene, pull, bob, "Why?")
    first = pull.threads[0].remarks[0]
    call = scene.call()
    made = await call("POST", f"{path}/comments/{first.id}/replies", {"body": "Because."})
    assert made.status == 201
    assert made.json["in_reply_to_id"] == first.id
    wrapper = (await call("GET", f"{path}/reviews/{made.json['pull_request_review_id']}")).json
    assert (wrapper["state"], wrapper["body"]) == ("COMMENTED", "")
    other = {"body": "So", "in_reply_to": first.id}
    again = await call("POST", f"{path}/comments", other)
    assert (again.status, again.json["in_reply_to_id"]) == (201, first.id)
    by_bob = await scene.github.reply(pull.threads[0], bob, "I see.")
    assert by_bob.reply_to is first
    assert [each.body for each in pull.threads[0].remarks] == ["Why?", "Because.", "So", "I see."]
    for wrong in (made.json["id"], 1):
        refused = await call("POST", f"{path}/comments/{wrong}/replies", {"body": "x"})
        assert refused.status == 404
    assert len(pull.reviews) == 4


async def test_a_batch_is_one_review(scene, pull, path):
    comments = [{"path": "ten.txt", "line": n, "body": f"on {n}"} for n in (5, 6)]
    sent = {"event": "REQUEST_CHANGES", "body": "Two things", "comments": comments}
    made = await scene.call()("POST", f"{path}/reviews", sent)
    assert (made.status, made.json["state"]) == (200, "CHANGES_REQUESTED")
    [review] = pull.reviews
    assert [each.body for each in review.remarks] == ["on 5", "on 6"]
    await scene.call()("PUT", f"{path}/reviews/{review.id}", {"body": "Two small things"})
    assert review.body == "Two small things"


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        ({"event": "COMMENT"}, 422, "can't be blank"),
        ({"event": "REQUEST_CHANGES", "body": " "}, 422, "can't be blank"),
        ({"body": "later"}, 501, "no pending reviews"),
        ({"event": "COMMENT", "body": "x", "commit_id": "0" * 40}, 422, "not part of"),
        ({"event": "COMMENT", "comments": [{"path": "ten.txt", "body": "x"}]}, 422, "Line"),
        ({"event": "PENDING"}, 422, "event"),
    ],
)
async def test_what_is_no_review(scene, pull, path, sent, *, status, words):
    answer = await scene.call()("POST", f"{path}/reviews", sent)
    assert answer.status == status
    assert words in json.dumps(answer.json)
    assert pull.reviews == []


async def test_nobody_judges_their_own_pull_request(scene):
    call = scene.call()
    await open_ten(scene, branch="bot/own", opens=False)
    wanted = {"title": "Mine", "head": "bot/own", "base": "main"}
    number = (await call("POST", f"{scene.base}/pulls", wanted)).json["number"]
    for event in ("APPROVE", "REQUEST_CHANGES"):
        sent = {"event": event, "body": "x"}
        refused = await call("POST", f"{scene.base}/pulls/{number}/reviews", sent)
        assert "your own pull request" in refused.json["errors"][0]
    sent = {"event": "COMMENT", "body": "x"}
    assert (await call("POST", f"{scene.base}/pulls/{number}/reviews", sent)).status == 200


async def test_comments_are_listed_as_asked(scene, pull, path, bob):
    for text in ("one", "two", "three"):
        await comment_on_line(scene, pull, bob, text)
        scene.github.advance_clock(timedelta(minutes=1))
    later = scene.github.world.get_time() - timedelta(minutes=1)
    await scene.github.edit_remark(pull.threads[0].remarks[0], bob, "one, again")

    async def bodies(query):
        return [
            each["body"] for each in (await scene.call()("GET", f"{path}/comments{query}")).json
        ]

    assert await bodies("") == ["one, again", "two", "three"]
    assert await bodies("?sort=created&direction=desc") == ["three", "two", "one, again"]
    assert await bodies("?sort=updated&direction=asc") == ["two", "three", "one, again"]
    since = later.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert await bodies(f"?since={since}") == ["one, again", "three"]
    assert (await scene.call()("GET", f"{path}/comments?since=soon")).status == 422
    assert await bodies("?per_page=1&page=2") == ["two"]


async def test_reactions_stand_once(scene, pull, path, bob):
    await comment_on_line(scene, pull, bob, "Why?")
    call, on = scene.call(), f"{scene.base}/pulls/comments/{pull.threads[0].remarks[0].id}"
    statuses = [(await call("POST", f"{on}/reactions", {"content": "eyes"})).status for _ in "ab"]
    assert statuses == [201, 200]
    assert (await call("GET", on)).json["reactions"]["eyes"] == 1
    assert len((await call("GET", f"{on}/reactions")).json) == 1


async def test_reviews_are_asked_for_and_asked_for_again(scene, pull, path, bob):
    call, ask = scene.call(), f"{path}/requested_reviewers"
    asked = await call("POST", ask, {"reviewers": ["bob"]})
    assert asked.status == 201
    assert [each["login"] for each in asked.json["requested_reviewers"]] == ["bob"]
    await scene.github.submit_review(pull, bob, "No.", state="CHANGES_REQUESTED")
    assert (await call("GET", ask)).json == {"users": [], "teams": []}
    await call("POST", ask, {"reviewers": ["bob"]})
    assert pull.requested == [bob]
    scene.github.create_user("stranger")
    for wrong, words in (
        ("ada", "pull request author"),
        ("stranger", "only be requested from collaborators"),
        ("nobody", "Unprocessable"),
        ("mender[bot]", "only be requested from collaborators"),
    ):
        refused = await call("POST", ask, {"reviewers": [wrong]})
        assert (refused.status, words in refused.json["message"]) == (422, True), wrong
    await call("DELETE", ask, {"reviewers": ["bob"]})
    assert pull.requested == []


async def test_only_what_judges_can_be_dismissed(scene, pull, path, bob):
    judged = await scene.github.submit_review(pull, bob, "No.", state="CHANGES_REQUESTED")
    commented = await comment_on_line(scene, pull, bob, "Hm")
    call = scene.call()
    done = await call("PUT", f"{path}/reviews/{judged.id}/dismissals", {"message": "Done"})
    assert (done.json["state"], done.json["body"]) == ("DISMISSED", "No.")
    refused = await call("PUT", f"{path}/reviews/{commented.id}/dismissals", {"message": "Done"})
    assert "Can not dismiss a commented" in refused.json["errors"][0]
    timeline = (await call("GET", f"{scene.base}/issues/{pull.issue.number}/timeline")).json
    assert [each["event"] for each in timeline] == ["reviewed", "reviewed", "review_dismissed"]
    assert timeline[2]["dismissed_review"]["dismissal_message"] == "Done"


async def test_what_webhooks_tell_of_a_review(scene, pull, bob, aiohttp_server):
    got = await listen(scene, aiohttp_server, EVENTS)
    comments = [Inline("ten.txt", 6, "Why?")]
    review = await scene.github.submit_review(
        pull, bob, "No.", state="CHANGES_REQUESTED", comments=comments
    )
    await scene.github.edit_review(review, bob, "Not yet.")
    await scene.github.edit_remark(review.remarks[0], bob, "Why so?")
    await scene.github.dismiss_review(review, scene.ada, "Done")
    await scene.github.reply(pull.threads[0], scene.ada, "Because.")

    told = [(each["_event"], each["action"]) for each in got]
    about = "pull_request_review"
    assert sorted(told) == sorted(
        [
            (about, "submitted"),
            (f"{about}_comment", "created"),
            (about, "edited"),
            (f"{about}_comment", "edited"),
            (about, "dismissed"),
            (about, "submitted"),
            (f"{about}_comment", "created"),
        ]
    )
    submitted = [each for each in got if each["action"] == "submitted"]
    states = [(each["review"]["state"], each["review"]["body"]) for each in submitted]
    assert states == [("changes_requested", "No."), ("commented", None)]
    [edited] = [each for each in got if "review" in each and each["action"] == "edited"]
    assert edited["changes"] == {"body": {"from": "No."}}
    assert edited["sender"]["login"] == "bob"


async def test_reading_takes_permission_and_writing_more(scene, pull, path, bob):
    await comment_on_line(scene, pull, bob, "Why?")
    first = pull.threads[0].remarks[0].id
    blind, reader = scene.call(contents="read"), scene.call(pull_requests="read")
    assert (await blind("GET", f"{path}/reviews")).status == 403
    assert (await blind("GET", f"{path}/comments")).status == 403
    assert (await reader("GET", f"{path}/comments")).status == 200
    for method, where, sent in (
        ("POST", f"{path}/comments/{first}/replies", {"body": "x"}),
        ("POST", f"{path}/reviews", {"event": "COMMENT", "body": "x"}),
        ("POST", f"{path}/requested_reviewers", {"reviewers": ["bob"]}),
        ("POST", f"{scene.base}/pulls/comments/{first}/reactions", {"content": "eyes"}),
        ("PUT", f"{path}/update-branch", {}),
    ):
        assert (await reader(method, where, sent)).status == 403, where
