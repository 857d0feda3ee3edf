"""`fettle doctor sandbox`: proof for people and for programs, without any setting of GitHub."""

import json

import pytest

from app.cli import main
from app.sandbox import choose as choosing
from app.sandbox.base import Probe, ProbeReport
from app.settings import PREFIX


class Faked:
    """A backend whose attacks end as the test wants."""

    owner = (1, 1)

    def __init__(self, name, level, held):
        self.name, self.level, self._held = name, level, held

    async def probe(self):
        probes = (
            Probe("run", held=True),
            Probe("reach us", self._held, "" if self._held else "[x]"),
        )
        words = ("", "") if self._held else ("an old kernel", "update it")
        return ProbeReport(self.name, probes, *words, 0.25, ("Weak in one thing.",))


@pytest.fixture
def doctor(monkeypatch, capsys):
    """Run the command on a machine where these backends hold."""

    def run(*args, holding=(), **settings):
        levels = {"landlock": "degraded", "none": "none"}
        monkeypatch.setattr(
            choosing, "make", lambda n, _: Faked(n, levels.get(n, "full"), n in holding)
        )
        for name in ("APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_FILE", "WEBHOOK_SECRETS", "SANDBOX"):
            monkeypatch.delenv(f"{PREFIX}{name}", raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr("sys.argv", ["fettle", "doctor", "sandbox", *args])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr().out

    return run


def test_what_held_is_shown(doctor):
    code, out = doctor(holding={"bubblewrap"})
    assert code == 0
    assert "bubblewrap (full, 0.25 s): held" in out
    assert out.splitlines()[2].split() == ["run", "held"]
    assert "Note: Weak in one thing." in out
    assert "Agents run in: bubblewrap" in out
    assert "container" not in out


def test_auto_goes_on_to_containers(doctor):
    code, out = doctor(holding={"container"})
    assert code == 0
    assert "bubblewrap (full, 0.25 s): failed" in out
    assert "Agents run in: container" in out


def test_a_refusal_has_cause_and_remedy(doctor):
    code, out = doctor(holding={"landlock", "none"})
    assert code == 2
    assert "[x]" in out
    assert out.count("Likely cause: an old kernel") == 2
    assert "Remedy: update it" in out
    assert "FETTLE_SANDBOX=landlock holds less" in out


def test_all_tries_every_backend_and_chooses_as_before(doctor):
    code, out = doctor("--all", holding={"landlock"})
    assert code == 2
    assert "landlock (degraded, 0.25 s): held" in out
    assert "none (unavailable" in out
    assert "No sandbox holds agents here" in out


def test_programs_get_one_object(doctor):
    code, out = doctor("--json", holding={"landlock"}, FETTLE_SANDBOX="landlock")
    assert code == 0
    assert json.loads(out) == {
        "chosen": "landlock",
        "backends": [
            {
                "name": "landlock",
                "level": "degraded",
                "held": True,
                "seconds": 0.25,
                "cause": "",
                "remedy": "",
                "notes": ["Weak in one thing."],
                "probes": [
                    {"name": "run", "held": True, "detail": ""},
                    {"name": "reach us", "held": True, "detail": ""},
                ],
            }
        ],
    }


def test_no_sandbox_has_to_be_acknowledged(doctor):
    code, out = doctor("--json", holding={"none"}, FETTLE_SANDBOX="none")
    refused = json.loads(out)
    assert (code, refused["chosen"], refused["backends"][0]["level"]) == (2, None, None)
    acknowledged = {"FETTLE_I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED": "true"}
    assert doctor(holding={"none"}, FETTLE_SANDBOX="none", **acknowledged)[0] == 0


@pytest.mark.parametrize("command", [("doctor",), ("doctor", "sandbox")])
def test_the_manual(monkeypatch, capsys, command):
    monkeypatch.setattr("sys.argv", ["fettle", *command, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "sandbox" in capsys.readouterr().out
