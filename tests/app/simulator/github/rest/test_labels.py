"""Labels of a repository: listed, made once, changed."""


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
