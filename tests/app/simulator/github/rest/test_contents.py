"""Files and folders of a commit, in each form that GitHub gives them."""

RAW = {"Accept": "application/vnd.github.raw+json"}
OBJECT = {"Accept": "application/vnd.github.object+json"}


async def test_a_folder_as_an_object_holds_its_entries(scene):
    call = scene.call(contents="read")
    files = {".github/fettle.yml": "a: 1\n", ".github/deep/x": "x"}
    await scene.github.commit(
        scene.repository, files, author=scene.ada, message="m", branch="bot/x"
    )
    path = f"{scene.base}/contents/.github"
    assert (await call("GET", path)).status == 404
    listed = (await call("GET", f"{path}?ref=bot/x")).json
    assert [each["type"] for each in listed] == ["dir", "file"]
    whole = (await call("GET", f"{path}/?ref=bot/x", **OBJECT)).json
    assert (whole["type"], whole["entries"]) == ("dir", listed)
    root = (await call("GET", f"{scene.base}/contents", **OBJECT)).json
    assert [each["path"] for each in root["entries"]] == ["README.md"]
    file = (await call("GET", f"{path}/fettle.yml?ref=bot/x", **OBJECT)).json
    assert (file["type"], file["encoding"]) == ("file", "base64")
    assert (await call("GET", f"{path}/fettle.yml?ref=bot/x", **RAW)).json == b"a: 1\n"


async def test_a_large_file_comes_raw_only(scene):
    call, large = scene.call(), "x" * 1_000_001
    await scene.github.commit(scene.repository, {"l": large}, author=scene.ada, message="m")
    for form in ({}, OBJECT):
        shown = (await call("GET", f"{scene.base}/contents/l", **form)).json
        assert (shown["encoding"], shown["content"], shown["size"]) == ("none", "", len(large))
    assert (await call("GET", f"{scene.base}/contents/l", **RAW)).json == large.encode()


async def test_a_link_is_followed_within_the_repository(scene, tmp_path):
    folder = tmp_path / "source"
    (folder / "a").mkdir(parents=True)
    (folder / "real.txt").write_text("real\n")
    for name, target in {"good": "../real.txt", "bad": "../../etc/passwd"}.items():
        (folder / "a" / name).symlink_to(target)
    made = await scene.github.create_repository(scene.owner, "links", source=folder)
    await scene.github.add_repositories(scene.installation, [made])
    token = scene.github.tokens.mint(scene.installation, [made], None).text
    call, base = scene.with_credential(token), "/repos/forge/links/contents/a"
    good = (await call("GET", f"{base}/good")).json
    assert (good["type"], good["content"]) == ("file", "cmVhbAo=\n")
    bad = (await call("GET", f"{base}/bad")).json
    assert (bad["type"], bad["target"]) == ("symlink", "../../etc/passwd")


async def test_the_owners_folder_is_there_where_the_app_is_installed(scene):
    call, path = scene.call(), "/repos/forge/.github/contents/.github/fettle.yml"
    assert (await call("GET", path)).status == 404
    made = await scene.github.create_repository(scene.owner, ".github")
    await scene.github.commit(made, {".github/fettle.yml": "a: 1\n"}, author=scene.ada, message="m")
    assert (await call("GET", path)).status == 404
    await scene.github.add_repositories(scene.installation, [made])
    token = scene.github.tokens.mint(scene.installation, [made], {"contents": "read"}).text
    assert (await scene.with_credential(token)("GET", path, **RAW)).json == b"a: 1\n"
    assert (await call("GET", path)).status == 404  # a token of another repository alone
