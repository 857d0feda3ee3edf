"""Conditional requests: 304 for what the caller has already, free of charge."""


async def count_used(call):
    return (await call("GET", "/rate_limit")).json["rate"]["used"]


async def test_what_is_known_already_costs_nothing(scene):
    call = scene.call()
    path = f"{scene.base}/issues?state=all"
    first = await call("GET", path)
    tag, before = first.headers["ETag"], await count_used(call)
    assert tag.startswith('W/"')
    assert "Authorization" in first.headers["Vary"]
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}'):
        again = await call("GET", path, **{"If-None-Match": known})
        assert (again.status, again.json, again.headers["ETag"]) == (304, b"", tag)
        assert again.headers["X-RateLimit-Used"] == str(before)
    await scene.github.comment(scene.repository, 1, scene.ada, "News")
    changed = await call("GET", path, **{"If-None-Match": tag})
    assert (changed.status, await count_used(call)) == (200, before + 1)
    assert changed.headers["ETag"] != tag


async def test_a_tag_is_of_one_token_and_one_media_type(scene):
    call, path = scene.call(), f"{scene.base}/contents/README.md"
    known = {"If-None-Match": (await call("GET", path)).headers["ETag"]}
    assert (await call("GET", path, **known)).status == 304
    assert (await scene.call()("GET", path, **known)).status == 200
    raw = {"Accept": "application/vnd.github.raw+json"}
    assert (await call("GET", path, **known, **raw)).status == 200


async def test_a_refusal_is_never_not_modified(scene):
    call = scene.call()
    every = {"If-None-Match": "*"}
    assert (await call("GET", scene.base, **every)).status == 304
    assert (await call("GET", f"{scene.base}/issues/77", **every)).status == 404
    assert (await call("POST", f"{scene.base}/labels", {"name": "x"}, **every)).status == 201


async def test_whoever_does_not_say_who_they_are_pays(scene):
    call = scene.with_credential(None)
    first = await call("GET", "/advisories")
    again = await call("GET", "/advisories", **{"If-None-Match": first.headers["ETag"]})
    assert again.status == 304
    spent = [int(each.headers["X-RateLimit-Used"]) for each in (first, again)]
    assert spent[1] == spent[0] + 1
