"""`fettle doctor`: proof for people and for programs, with whatever there is of a configuration."""

import asyncio
import json
import logging
import sys

import pytest

from app.cli import main
from app.config.settings import PREFIX
from app.doctor.finding import Diagnosis
from app.sandbox import select as choosing
from app.sandbox.port import Probe
from tests.deploy.conftest import ROOT
from tests.fakes.sandbox import ProbedBackend
from tests.patience import PATIENCE


def build_backend(name, held):
    probes = Probe("run", held=True), Probe("reach us", held, "" if held else "[x]")
    return ProbedBackend(name, *probes)


@pytest.fixture
def doctor(monkeypatch, capsys):
    """Run the command on a machine where these backends hold."""

    def run(*args, holding=(), **settings):
        monkeypatch.setattr(
            choosing,
            "make_backend",
            lambda n, _: build_backend(n, n in holding),
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
    assert "Note: a note" in out
    assert "Agents run in: bubblewrap" in out
    assert "container" not in out


def test_auto_goes_on_to_containers(doctor):
    code, out = doctor(holding={"container"})
    assert code == 0
    assert "bubblewrap (full, 0.25 s): failed" in out
    assert "Agents run in: container" in out


def test_a_refusal_has_cause_and_remedy(doctor):
    code, out = doctor(holding={"none"})
    assert code == 2
    assert "[x]" in out
    assert out.count("Likely cause: cause of ") == 2
    assert "Remedy: remedy of bubblewrap" in out
    assert "Fettle needs bubblewrap (`apt-get install bubblewrap`)" in out


def test_all_tries_every_backend_and_chooses_as_before(doctor):
    code, out = doctor("--all", holding={"container"}, FETTLE_SANDBOX="bubblewrap")
    assert code == 2
    assert "container (full, 0.25 s): held" in out
    assert "none (unavailable" in out
    assert "No sandbox holds agents here" in out


def test_programs_get_one_object(doctor):
    code, out = doctor("--json", holding={"container"}, FETTLE_SANDBOX="container")
    assert code == 0
    assert json.loads(out) == {
        "chosen": "container",
        "backends": [
            {
                "name": "container",
                "level": "full",
                "held": True,
                "seconds": 0.25,
                "cause": "",
                "remedy": "",
                "notes": ["a note"],
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


def test_a_manuals_texts_are_filled_to_the_terminals_width(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fettle", "eval", "--help"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().out.partition("The JSON object:")[2]
    assert "list of {case, attempt, state" in said
    assert not [
        line for line in said.splitlines() if "  " in line.strip().partition("  ")[2].strip()
    ]


@pytest.fixture
def findings(monkeypatch, capsys):
    """Run all checks with what they find given; exit code and output."""

    def run(*args, found=()):
        async def record_examine(*_, **options):
            asked.append(options["ask_models"])
            return list(found)

        asked = []
        monkeypatch.setattr("app.doctor.run_all.examine", record_examine)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hush-hush-hush")
        monkeypatch.setattr("sys.argv", ["fettle", "doctor", *args])
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            logging.disable(logging.NOTSET)
        return ended.value.code or 0, capsys.readouterr().out, asked

    return run


def test_findings_with_their_remedies(findings):
    found = (
        Diagnosis("git", "ok", "2.39"),
        Diagnosis("clock", "warning", "40 s behind", "Set it."),
        Diagnosis("model", "skipped", "It waits."),
    )
    code, out, asked = findings(found=found)
    assert (code, asked) == (0, [False])
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [
        ["git", "ok"],
        ["clock", "warning"],
    ]
    assert "→ Set it." in out
    assert "1 ok, 1 warning, 1 skipped" in out
    code, out, _ = findings(found=[*found, Diagnosis("key", "failed", "No.", "Do.")])
    assert (code, "1 failed" in out) == (2, True)


def test_no_link_in_a_remedy_is_cut(findings):
    link = "https://github.example.com/organizations/octo/settings/" + "installations/" * 10
    _, out, _ = findings(found=[Diagnosis("installation", "warning", "It has to.", link)])
    assert link in "".join(line.removeprefix(" " * 23).strip() for line in out.splitlines())


def test_findings_for_programs(findings):
    found = [Diagnosis("key", "failed", "No.", "Do.")]
    code, out, asked = findings("--json", "--yes", found=found)
    assert (code, asked) == (2, [True])
    assert json.loads(out) == {
        "healthy": False,
        "findings": [{"about": "key", "level": "failed", "said": "No.", "remedy": "Do."}],
    }


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_attack_what_strangers_named_cannot_speak_to_the_terminal_and_no_secret_is_shown(
    findings, form
):
    name = "bea\x1b[2J\x1b]0;owned\x07\nkey  ok\u202e sk-hush-hush-hush"
    found = [Diagnosis(f"installation {name}", "warning", name, name)]
    _, out, _ = findings(*form, found=found)
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "hush" not in out
    assert not any(line.strip().startswith("key") for line in out.splitlines())


async def test_the_whole_of_it_in_a_process_of_its_own(tmp_path):
    """Half a configuration, no terminal: one object, no traceback, an exit code."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", "doctor", "--json"),
        cwd=ROOT,
        env={
            "PATH": "/usr/bin:/bin",
            "FETTLE_DATA_DIR": str(tmp_path),
            "FETTLE_PORT": "many",
            "FETTLE_WEBHOOK_SECRETS": "hush-hush-hush",
            "FETTLE_SANDBOX": "none",
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    assert (process.returncode, err) == (2, b"")
    found = json.loads(out)["findings"]
    said = " ".join(each["said"] for each in found)
    for name in ("FETTLE_PORT", "FETTLE_APP_ID", "FETTLE_PRIVATE_KEY", "ANTHROPIC_API_KEY"):
        assert name in said
    assert b"hush" not in out
    assert list(tmp_path.iterdir()) == []
