"""The REST API: what it does, refuses and remembers, beyond the shape of its answers."""

import pytest


async def test_a_comment_says_through_which_app_it_came(scene):
    call = scene.call()
    made = await call("POST", f"{scene.base}/issues/1/comments", {"body": "At work"})
    assert made.status == 201
    assert made.json["user"]["login"] == "mender[bot]"
    assert made.json["user"]["id"] == scene.credentials.bot_id
    assert made.json["performed_via_github_app"]["id"] == scene.credentials.app_id
    path = f"{scene.base}/issues/comments/{made.json['id']}"
    assert (await call("PATCH", path, {"body": "Done"})).json["body"] == "Done"
    by_ada = await scene.github.comment(scene.repository, 1, scene.ada, "Thanks")
    listed = await call("GET", f"{scene.base}/issues/1/comments")
    assert [each["body"] for each in listed.json] == ["Done", "Thanks"]
    assert listed.json[1]["performed_via_github_app"] is None
    assert listed.json[1]["id"] == by_ada.id


async def test_texts_have_a_longest_length(scene):
    call, path = scene.call(), f"{scene.base}/issues/1/comments"
    assert (await call("POST", path, {"body": "x" * 65_536})).status == 201
    refused = await call("POST", path, {"body": "x" * 65_537})
    assert refused.status == 422
    assert "maximum is 65536" in refused.json["errors"][0]["message"]
    assert (await call("POST", path, {"body": 5})).status == 422
    assert (await call("POST", path, {"body": " "})).status == 422


async def test_a_reaction_stands_once(scene):
    call, path = scene.call(), f"{scene.base}/issues/1/reactions"
    assert (await call("POST", path, {"content": "eyes"})).status == 201
    assert (await call("POST", path, {"content": "eyes"})).status == 200
    assert (await call("POST", path, {"content": "nose"})).status == 422
    issue = await call("GET", f"{scene.base}/issues/1")
    assert issue.json["reactions"]["eyes"] == 1


async def test_labels_come_and_go(scene):
    call, path = scene.call(), f"{scene.base}/issues/1/labels"
    added = await call("POST", path, {"labels": ["bot:running"]})
    assert [each["name"] for each in added.json] == ["bug", "bot:running"]
    removed = await call("DELETE", f"{path}/bot:running")
    assert [each["name"] for each in removed.json] == ["bug"]
    assert (await call("DELETE", f"{path}/bot:running")).status == 404
    open_ones = await call("GET", f"{scene.base}/issues?labels=bug")
    assert [each["number"] for each in open_ones.json] == [1]
    assert (await call("GET", f"{scene.base}/issues?labels=bug,none")).json == []


async def test_issue_permissions_do_not_open_pull_requests_nor_the_reverse(scene):
    await push_fix(scene)
    pull = {"title": "Mend", "head": "bot/fix", "base": "main"}
    number = (await scene.call()("POST", f"{scene.base}/pulls", pull)).json["number"]
    only_pulls = scene.call(pull_requests="write")
    path = f"{scene.base}/issues/{{}}/comments"
    assert (await only_pulls("POST", path.format(number), {"body": "x"})).status == 201
    assert (await only_pulls("POST", path.format(1), {"body": "x"})).status == 403
    comment = (await scene.call()("POST", path.format(1), {"body": "y"})).json["id"]
    on_comment = f"{scene.base}/issues/comments/{comment}"
    assert (await only_pulls("PATCH", on_comment, {"body": "z"})).status == 403


async def push_fix(scene, **files):
    files = files or {"main.py": "print('hello')\n"}
    await scene.github.commit(
        scene.repository, files, author=scene.ada, message="Fix", branch="bot/fix"
    )


async def test_a_pull_request_is_opened_once(scene):
    await push_fix(scene)
    call, path = scene.call(), f"{scene.base}/pulls"
    wanted = {"title": "Mend", "head": "bot/fix", "base": "main", "body": "Resolves #1"}
    made = await call("POST", path, {**wanted, "draft": True})
    assert made.status == 201
    assert made.json["draft"] is True
    assert made.json["head"]["ref"] == "bot/fix"
    sizes = {name: made.json[name] for name in ("commits", "additions", "changed_files")}
    assert sizes == {"commits": 1, "additions": 1, "changed_files": 1}
    assert made.json["mergeable"] is None
    again = await call("POST", path, wanted)
    assert again.status == 422
    already = "A pull request already exists for forge:bot/fix."
    assert again.json["errors"][0]["message"] == already
    mentioned = await call("GET", f"{scene.base}/issues/1/timeline")
    assert mentioned.json[-1]["event"] == "cross-referenced"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"head": "bot/none"}, {"field": "head", "code": "invalid"}),
        ({"base": "none"}, {"field": "base", "code": "invalid"}),
        ({"head": "stranger:bot/fix"}, {"field": "head", "code": "invalid"}),
        ({"head": "main"}, {"message": "No commits between main and main"}),
        ({"title": ""}, {"field": "title", "code": "missing_field"}),
    ],
)
async def test_what_makes_no_pull_request(scene, change, error):
    await push_fix(scene)
    wanted = {"title": "Mend", "head": "bot/fix", "base": "main"} | change
    refused = await scene.call()("POST", f"{scene.base}/pulls", wanted)
    assert refused.status == 422
    assert error.items() <= refused.json["errors"][0].items()


async def test_the_head_filter_wants_the_owner(scene):
    await push_fix(scene)
    call, path = scene.call(), f"{scene.base}/pulls"
    await call("POST", path, {"title": "Mend", "head": "bot/fix", "base": "main"})
    assert len((await call("GET", f"{path}?head=forge:bot/fix")).json) == 1
    assert (await call("GET", f"{path}?head=forge:bot/other")).json == []
    assert len((await call("GET", f"{path}?head=bot/other")).json) == 1  # GitHub ignores it


async def test_pull_requests_follow_their_branches(scene):
    await push_fix(scene)
    call = scene.call()
    wanted = {"title": "Mend", "head": "bot/fix", "base": "main"}
    number = (await call("POST", f"{scene.base}/pulls", wanted)).json["number"]
    await push_fix(scene, **{"README.md": "ours\n"})
    pull = await asked_twice(call, f"{scene.base}/pulls/{number}")
    assert (pull.json["commits"], pull.json["mergeable"]) == (2, True)
    theirs = {"README.md": "theirs\n"}
    await scene.github.commit(scene.repository, theirs, author=scene.ada, message="Other")
    pull = await asked_twice(call, f"{scene.base}/pulls/{number}")
    assert (pull.json["mergeable"], pull.json["mergeable_state"]) == (False, "dirty")
    files = await call("GET", f"{scene.base}/pulls/{number}/files")
    assert {each["filename"] for each in files.json} == {"README.md", "main.py"}
    ref = await call("GET", f"{scene.base}/git/ref/pull/{number}/head")
    assert ref.json["object"]["sha"] == pull.json["head"]["sha"]


async def asked_twice(call, path):
    """GitHub finds out whether a pull request can be merged once somebody asks."""
    first = await call("GET", path)
    assert (first.json["mergeable"], first.json["mergeable_state"]) == (None, "unknown")
    return await call("GET", path)


@pytest.mark.parametrize(
    ("role", "base", "permission"),
    [
        ("admin", None, "admin"),
        ("maintain", None, "write"),
        ("triage", None, "read"),
        ("security-lead", "write", "write"),
    ],
)
async def test_roles_are_folded_as_github_does(scene, role, base, permission):
    scene.github.set_role(scene.repository, scene.ada, role, base=base)
    told = (await scene.call()("GET", f"{scene.base}/collaborators/ada/permission")).json
    assert (told["role_name"], told["permission"]) == (role, permission)


async def test_strangers_and_owners_have_roles_too(scene):
    scene.github.create_user("stranger")
    call, path = scene.call(), f"{scene.base}/collaborators/{{}}/permission"
    assert (await call("GET", path.format("stranger"))).json["permission"] == "none"
    assert (await call("GET", path.format("forge"))).json["permission"] == "admin"
    assert (await call("GET", path.format("nobody"))).status == 404


async def test_a_renamed_repository_redirects_to_its_id(scene):
    await scene.github.rename_repository(scene.repository, "hammer")
    call = scene.call()
    moved = await call("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    assert moved.status == 301
    assert moved.headers["Location"].endswith(
        f"/repositories/{scene.repository.id}/issues/1/comments"
    )
    assert (await call("POST", moved.headers["Location"], {"body": "x"})).status == 201
    assert (await call("GET", "/repos/forge/hammer")).json["name"] == "hammer"


async def test_contents_come_as_github_gives_them(scene):
    call = scene.call(contents="read")
    file = await call("GET", f"{scene.base}/contents/README.md")
    assert (file.json["encoding"], file.json["content"]) == ("base64", "IyBhbnZpbAo=\n")
    raw = await call(
        "GET", f"{scene.base}/contents/README.md", Accept="application/vnd.github.raw+json"
    )
    assert raw.json == b"# anvil\n"
    await push_fix(scene, **{"a/b/c.txt": "x"})
    folder = await call("GET", f"{scene.base}/contents/a/b?ref=bot/fix")
    assert [each["path"] for each in folder.json] == ["a/b/c.txt"]
    root = await call("GET", f"{scene.base}/contents")
    assert [each["name"] for each in root.json] == ["README.md"]
    assert (await call("GET", f"{scene.base}/contents/none")).status == 404
    assert (await call("GET", f"{scene.base}/contents/README.md?ref=none")).status == 404


async def test_check_runs_belong_to_their_app(scene):
    call = scene.call()
    new = {"name": "mender", "head_sha": "main", "external_id": "run-7"}
    made = await call("POST", f"{scene.base}/check-runs", new)
    assert (made.json["status"], made.json["conclusion"]) == ("queued", None)
    path = f"{scene.base}/check-runs/{made.json['id']}"
    assert (await call("PATCH", path, {"status": "completed"})).status == 422
    done = await call("PATCH", path, {"conclusion": "success"})
    assert done.json["status"] == "completed"
    found = await call("GET", f"{scene.base}/commits/main/check-runs?check_name=mender")
    assert found.json["check_runs"][0]["external_id"] == "run-7"
    other = scene.github.create_app("other")
    installed = await scene.github.install(other.app_id, [scene.repository])
    foreign = scene.with_credential(scene.github.tokens.mint(installed, None, None).text)
    assert (await foreign("PATCH", path, {"conclusion": "failure"})).status == 403
    long = {"conclusion": "success", "output": {"summary": "x" * 65_536}}
    assert (await call("PATCH", path, long)).status == 422


async def test_a_check_run_has_three_short_buttons_at_most(scene):
    call, path = scene.call(), f"{scene.base}/check-runs"
    button = {"label": "Approve", "description": "Go on", "identifier": "approve:k3f9x2"}
    new = {"name": "ask", "head_sha": "main", "conclusion": "action_required"}
    assert (await call("POST", path, {**new, "actions": [button] * 3})).status == 201
    assert (await call("POST", path, {**new, "actions": [button] * 4})).status == 422
    long = {**button, "identifier": "x" * 21}
    assert (await call("POST", path, {**new, "actions": [long]})).status == 422


async def test_reactions_to_a_comment_are_listed(scene):
    comment = await scene.github.comment(scene.repository, 1, scene.ada, "Yes")
    call, path = scene.call(), f"{scene.base}/issues/comments/{comment.id}/reactions"
    assert (await call("POST", path, {"content": "+1"})).status == 201
    assert (await call("POST", path, {"content": "+1"})).status == 200
    listed = await call("GET", path)
    assert [(each["user"]["login"], each["content"]) for each in listed.json] == [
        ("mender[bot]", "+1")
    ]


async def test_pages_lead_to_each_other(scene):
    for number in range(5):
        await scene.github.comment(scene.repository, 1, scene.ada, f"{number}")
    call, seen = scene.call(), []
    url = f"{scene.base}/issues/1/comments?per_page=2"
    for _ in range(5):
        answer = await call("GET", url)
        seen += [each["body"] for each in answer.json]
        links = dict(
            reversed(each.split("; ")) for each in answer.headers.get("Link", "").split(", ")
        )
        if 'rel="next"' not in links:
            break
        url = links['rel="next"'].strip("<>")
    assert seen == ["0", "1", "2", "3", "4"]


async def test_an_unchanged_answer_is_free(scene):
    call = scene.call()
    first = await call("GET", scene.base)
    second = await call("GET", scene.base, **{"If-None-Match": first.headers["ETag"]})
    assert second.status == 304
    left = [int(each.headers["X-RateLimit-Remaining"]) for each in (first, second)]
    assert left[0] == left[1]
    third = await call("GET", f"{scene.base}/issues/1")
    assert int(third.headers["X-RateLimit-Remaining"]) == left[0] - 1


async def test_api_versions(scene):
    call = scene.call()
    old = await call("GET", "/rate_limit")
    assert "rate" in old.json
    new = await call("GET", "/rate_limit", **{"X-GitHub-Api-Version": "2026-03-10"})
    assert "rate" not in new.json
    assert (await call("GET", "/meta", **{"X-GitHub-Api-Version": "1999-01-01"})).status == 400


async def test_unknown_calls_and_broken_json_are_refused_in_githubs_shape(scene):
    call = scene.call()
    unknown = await call("GET", f"{scene.base}/nonsense")
    assert (unknown.status, unknown.json["message"]) == (404, "Not Found")
    url = f"{scene.github.url}/api/v3{scene.base}/issues/1/comments"
    headers = {"Authorization": f"Bearer {scene.token()}"}
    async with scene.session.post(url, data=b"{", headers=headers) as answer:
        assert answer.status == 400
        assert (await answer.json())["message"] == "Problems parsing JSON"


async def test_labels_are_made_once_and_changed(scene):
    call, path = scene.call(issues="write"), f"{scene.base}/labels"
    new = {"name": "bot:resolve", "color": "5319e7", "description": "Ask for a fix"}
    assert (await call("POST", path, new)).status == 201
    refused = await call("POST", path, new | {"name": "BOT:resolve"})
    assert refused.status == 422
    assert refused.json["errors"][0]["code"] == "already_exists"
    for wrong in ({"color": "#5319e7"}, {"description": "x" * 101}):
        assert (await call("POST", path, {"name": "y"} | wrong)).status == 422
    names = [each["name"] for each in (await call("GET", path)).json]
    assert names == ["bot:resolve", "bug", "documentation", "enhancement"]
    changed = await call("PATCH", f"{path}/bug", {"new_name": "defect", "color": "000000"})
    assert (changed.json["name"], changed.json["color"]) == ("defect", "000000")
    assert (await call("GET", f"{path}/bug")).status == 404
    issue = (await call("GET", f"{scene.base}/issues/1")).json
    assert [each["name"] for each in issue["labels"]] == ["defect"]
    taken = await call("PATCH", f"{path}/defect", {"new_name": "documentation"})
    assert taken.status == 422
    reading = scene.call(issues="read")
    assert (await reading("PATCH", f"{path}/defect", {})).status == 403
