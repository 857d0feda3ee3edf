"""Sub-issues, dependencies, pushes and attached files behave as on GitHub."""

from __future__ import annotations

import pytest


@pytest.fixture
async def issues(scene):
    """Three more issues, numbered 2, 3 and 4."""
    return [
        await scene.github.create_issue(scene.repository, scene.ada, f"Part {n}") for n in (2, 3, 4)
    ]


async def test_sub_issues_keep_their_order_and_have_one_parent(scene, issues):
    call, path = scene.call(), f"{scene.base}/issues/1/sub_issues"
    two, three, four = issues
    for child in (three, two):
        made = await call("POST", path, {"sub_issue_id": child.id})
        assert (made.status, made.json["number"]) == (201, child.number)
    assert [each["number"] for each in (await call("GET", path)).json] == [3, 2]
    below = f"{scene.base}/issues/4/sub_issues"
    for wrong in (
        await call("POST", path, {"sub_issue_id": two.id}),
        await call("POST", below, {"sub_issue_id": two.id}),
        await call("POST", path, {"sub_issue_id": two.number}),
        await call("POST", path, {"sub_issue_id": scene.issue.id}),
        await call("POST", path, {"sub_issue_id": "3"}),
    ):
        assert wrong.status == 422
    below_two = f"{scene.base}/issues/2/sub_issues"
    assert (await call("POST", below_two, {"sub_issue_id": four.id})).status == 201
    round_about = await call(
        "POST", f"{scene.base}/issues/4/sub_issues", {"sub_issue_id": scene.issue.id}
    )
    assert round_about.status == 422


async def test_an_issue_tells_about_its_parts_and_its_parent(scene, issues):
    call = scene.call()
    for child in issues[:2]:
        await scene.github.add_sub_issue(scene.issue, child, scene.ada)
    await scene.github.close_issue(scene.repository, 2, scene.ada)
    whole = (await call("GET", f"{scene.base}/issues/1")).json
    part = (await call("GET", f"{scene.base}/issues/2")).json
    assert whole["sub_issues_summary"] == {"total": 2, "completed": 1, "percent_completed": 50}
    assert part["parent_issue_url"] == whole["url"]
    assert (await call("GET", f"{scene.base}/issues/2/parent")).json["number"] == 1
    assert (await call("GET", f"{scene.base}/issues/1/parent")).status == 404


async def test_dependencies_count_open_issues(scene, issues):
    call = scene.call()
    await scene.github.block_issue(issues[0], issues[1], scene.ada)
    await scene.github.block_issue(issues[0], issues[2], scene.ada)
    await scene.github.close_issue(scene.repository, 3, scene.ada)
    path = f"{scene.base}/issues/2/dependencies/blocked_by"
    assert [each["number"] for each in (await call("GET", path)).json] == [3, 4]
    summary = (await call("GET", f"{scene.base}/issues/2")).json["issue_dependencies_summary"]
    assert summary == {"blocked_by": 1, "blocking": 0, "total_blocked_by": 2, "total_blocking": 0}
    assert (await call("POST", path, {"issue_id": issues[0].id})).status == 422


async def test_permissions(scene, issues):
    reader = scene.call(issues="read")
    path = f"{scene.base}/issues/1/sub_issues"
    assert (await reader("GET", path)).status == 200
    assert (await reader("POST", path, {"sub_issue_id": issues[0].id})).status == 403
    assert (await scene.call(contents="read")("GET", path)).status == 403
    assert (await reader("GET", f"{scene.base}/activity")).status == 403


async def test_activity_names_who_moved_a_branch_newest_first(scene):
    for text in ("1", "2"):
        await scene.github.commit(
            scene.repository, {"a": text}, author=scene.ada, message="m", branch="fix"
        )
    call = scene.call()
    for ref in ("fix", "refs/heads/fix"):
        found = (await call("GET", f"{scene.base}/activity?ref={ref}")).json
        assert [each["activity_type"] for each in found] == ["push", "branch_creation"]
        assert {each["actor"]["login"] for each in found} == {"ada"}
        assert found[0]["before"] == found[1]["after"]
    assert len((await call("GET", f"{scene.base}/activity?ref=fix&per_page=1")).json) == 1
    assert (await call("GET", f"{scene.base}/activity?ref=none")).json == []


async def test_attached_files_open_to_those_who_see_the_repository(scene):
    url = scene.github.attach_file(scene.repository, b"PNG")
    nobody = scene.with_credential(None)
    assert (await nobody("GET", url)).status == 404
    assert (await scene.with_credential("ghs_wrong")("GET", url)).status == 404
    led = await scene.call()("GET", url)
    assert led.status == 302
    stored = led.headers["Location"]
    assert (await nobody("GET", stored)).json == b"PNG"
    assert (await scene.call()("GET", stored)).status == 400
    assert (await nobody("GET", stored.partition("?")[0])).status == 403


async def test_a_public_repository_shows_its_files_to_everybody(scene):
    scene.repository.private = False
    url = scene.github.attach_file(scene.repository, b"PNG")
    assert (await scene.with_credential(None)("GET", url)).status == 302


async def test_a_text_as_html_shows_files_by_addresses_that_need_no_credentials(scene):
    url = scene.github.attach_file(scene.repository, b"PNG")
    scene.issue.body = f"![x]({url})"
    path = f"{scene.base}/issues/1"
    plain = await scene.call()("GET", path)
    full = await scene.call()("GET", path, Accept="application/vnd.github.full+json")
    assert "body_html" not in plain.json
    assert url not in full.json["body_html"]
    assert "/_storage/files/" in full.json["body_html"]
    assert full.json["body"] == scene.issue.body
