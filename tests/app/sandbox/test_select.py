"""The selection: what the operator named, else the first that held; never less in silence."""

from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agents.errors import ConfigError
from app.config.settings import load_settings
from app.sandbox import select as choosing
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.container.backend import Container
from app.sandbox.none.backend import NoSandbox
from app.sandbox.port import Probe
from app.sandbox.select import build_caution, choose, try_backend
from tests.fakes.sandbox import ProbedBackend

ACKNOWLEDGED = {"FETTLE_I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED": "true"}


def settings(**variables):
    return load_settings({"FETTLE_SANDBOX_UID": "58996", **variables}, serving=False)


GOOD, BAD = Probe("an attack", held=True), Probe("an attack", held=False, detail="it worked")


@pytest.fixture
def machine(monkeypatch):
    """Pretend that backends hold or not: `machine(bubblewrap=BAD)`."""

    def pretend(**probes):
        made = {n: ProbedBackend(n, p) for n, p in probes.items()}
        monkeypatch.setattr(choosing, "make_backend", lambda name, _: made[name])

    return pretend


async def test_auto_takes_the_first_that_held(machine):
    machine(bubblewrap=GOOD, container=GOOD)
    assert (await choose(settings())).name == "bubblewrap"
    machine(bubblewrap=BAD, container=GOOD)
    assert (await choose(settings())).name == "container"


async def test_auto_never_takes_less(machine):
    machine(bubblewrap=BAD, container=BAD, none=GOOD)
    with pytest.raises(ConfigError) as refused:
        await choose(settings(**ACKNOWLEDGED))
    text = str(refused.value)
    for name in ("bubblewrap", "container"):
        assert f"{name}: failed: an attack (it worked)" in text
        assert f"Likely cause: cause of {name}" in text
        assert f"Remedy: remedy of {name}" in text
    assert "FETTLE_SANDBOX=none" in text


async def test_a_machine_with_neither_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("app.sandbox.bubblewrap.backend._SYSTEM_PATH", str(tmp_path))
    monkeypatch.setattr(choosing, "Container", partial(Container, path=str(tmp_path)))
    with pytest.raises(ConfigError) as refused:
        await choose(settings())
    text = str(refused.value)
    assert "Likely cause: the program `bwrap` is not installed" in text
    assert "Remedy: run `apt-get install bubblewrap`" in text
    assert "Remedy: run `apt-get install podman`" in text


def test_a_backend_of_earlier_versions_is_refused_with_what_to_choose():
    with pytest.raises(ConfigError, match=r"`landlock`.*bubblewrap or container"):
        settings(FETTLE_SANDBOX="landlock")


@pytest.mark.parametrize("name", ["bubblewrap", "container", "none"])
async def test_what_was_named_is_taken_or_refused_and_nothing_else(machine, name):
    every = dict.fromkeys(("bubblewrap", "container", "none"), GOOD)
    machine(**every)
    assert (await choose(settings(FETTLE_SANDBOX=name, **ACKNOWLEDGED))).name == name
    machine(**{**every, name: BAD})
    with pytest.raises(ConfigError, match=f"{name}: failed"):
        await choose(settings(FETTLE_SANDBOX=name, **ACKNOWLEDGED))


async def test_none_wants_to_be_said_twice(machine):
    machine(none=GOOD)
    with pytest.raises(ConfigError, match="I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED"):
        await choose(settings(FETTLE_SANDBOX="none"))


@pytest.mark.parametrize(("name", "warned"), [("bubblewrap", 0), ("none", 1)])
async def test_each_start_with_less_is_warned_of(machine, name, warned):
    machine(**{name: GOOD})
    with capture_logs() as logs:
        await choose(settings(FETTLE_SANDBOX=name, **ACKNOWLEDGED))
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert len(warnings) == warned
    assert all(entry["not_held"] == ["a note"] for entry in warnings)


def test_each_report_says_that_it_was_less():
    assert build_caution(ProbedBackend("bubblewrap")) == ""
    assert "without a sandbox" in build_caution(ProbedBackend("none"))


async def test_a_toolchain_out_of_reach_is_told_as_such(tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "tools").mkdir()
    own = settings(FETTLE_TOOLCHAINS=str(tmp_path / "tools"))
    tried = await try_backend("bubblewrap", own)
    if tried.report.held:
        pytest.skip("not root: everything of ours is in reach")
    assert "may not enter" in tried.report.cause


@pytest.mark.parametrize(
    ("name", "kind"), [("bubblewrap", Bubblewrap), ("container", Container), ("none", NoSandbox)]
)
def test_the_settings_reach_the_backend(name, kind):
    made = choosing.make_backend(name, settings(FETTLE_TOOLCHAINS=str(Path("/usr"))))
    assert isinstance(made, kind)
    assert made.owner[0] > 0
