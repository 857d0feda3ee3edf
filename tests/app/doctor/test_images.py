"""The doctor on images that repositories may name: which are here, which hold, what to do."""

from app.config.settings import load_settings
from app.doctor.images import MOST_TRIED, image_findings
from tests.fakes.container_engine import FakeContainerEngine

DIGEST = "sha256:" + "5e" * 32


async def examine(engine, allowed, **more):
    values = {"FETTLE_ENVIRONMENT_IMAGES": allowed, "FETTLE_SANDBOX_UID": "58996"}
    values["FETTLE_CONTAINER_ENGINE"] = str(engine.folder / "podman")
    return await image_findings(load_settings(values | more, serving=False))


async def test_nothing_is_said_where_none_is_allowed(open_folder):
    engine = FakeContainerEngine(open_folder)
    assert await examine(engine, "") == []
    assert not (open_folder / "calls").exists()


async def test_each_image_that_is_allowed_and_here_is_tried(open_folder):
    engine = FakeContainerEngine(open_folder)
    engine.hold()
    made = engine.add_image("ghcr.io/acme/ci:1")
    engine.add_image("ghcr.io/acme/bare:1", without=["perl"])
    engine.add_image("ghcr.io/acme/odd:1", Labels={"fettle.sandbox": "true"})
    engine.add_image("ghcr.io/other/ci:1")
    found = await examine(engine, f"ghcr.io/acme/*,ghcr.io/acme/db:2,ghcr.io/acme/x@{DIGEST}")
    said = {f"{each.level}: {each.said} {each.remedy}" for each in found}
    assert any(f"ok: `ghcr.io/acme/ci:1` ({made[:12]}) held against" in each for each in said)
    assert any("warning: `ghcr.io/acme/bare:1` is not used" in each for each in said)
    assert any("lacks /usr/bin/perl" in each for each in said)
    assert any("`ghcr.io/acme/odd:1` cannot be used: it carries labels" in each for each in said)
    assert any("Run `podman pull ghcr.io/acme/db:2` as Fettle's user." in each for each in said)
    assert any(f"podman pull ghcr.io/acme/x@{DIGEST}" in each for each in said)
    assert not any("other" in each for each in said)
    assert len(found) == 5


async def test_with_none_of_them_here_or_no_engine_it_says_what_to_run(open_folder):
    engine = FakeContainerEngine(open_folder)
    [found] = await examine(engine, "ghcr.io/acme/*")
    assert (found.level, found.remedy) == ("warning", "Run `podman pull` for each.")
    (engine.folder / "podman").write_text("#!/bin/sh\necho broken\nexit 1\n")
    [found] = await examine(engine, "ghcr.io/acme/*")
    assert "no engine answers: podman does not answer: broken" in found.said
    unheld = {"FETTLE_SANDBOX": "none", "FETTLE_I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED": "true"}
    [found] = await examine(engine, "ghcr.io/acme/*", **unheld)
    assert found.level == "skipped"


async def test_an_engine_that_holds_nothing_is_found_out_and_few_are_tried(open_folder):
    engine = FakeContainerEngine(open_folder)
    for number in range(MOST_TRIED + 2):
        engine.add_image(f"ghcr.io/acme/n{number}:1")
    found = await examine(engine, "ghcr.io/acme/*")
    assert [each.level for each in found] == [*["warning"] * MOST_TRIED, "ok"]
    assert all("is not used: the engine" in each.said for each in found[:-1])
    assert "2 more are allowed and here" in found[-1].said
