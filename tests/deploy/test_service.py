"""fettle.service: systemd understands it, it is hardened, and the sandbox still works in it."""

import re
import shutil
import subprocess
import sys

import pytest

from app.wiring.serve import DRAIN_SECONDS

BREAKS_THE_SANDBOX = {
    *("RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset"),
    *("ProtectHostname", "ProtectControlGroups", "MemoryDenyWriteExecute", "DynamicUser"),
    *("PrivateNetwork", "PrivateUsers"),
}
HARDENED = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "AmbientCapabilities": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "SystemCallArchitectures": "native",
}


@pytest.fixture(scope="module")
def text(deploy):
    return (deploy / "fettle.service").read_text("utf-8")


@pytest.fixture(scope="module")
def unit(text):
    lines = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)
    names = [name for name, _ in lines]
    assert len(names) == len(set(names)), "a second line of one name would hide the first"
    return dict(lines)


def environment(text):
    return dict(re.findall(r"^Environment=(\w+)=(\S+)$", text, re.MULTILINE))


def test_what_it_sets_are_settings_and_none_is_secret(text, variables, secret_variables):
    assert environment(text)
    assert set(environment(text)) <= set(variables) - secret_variables


def test_secrets_are_files_in_a_folder_and_their_script_is_ours(unit, deploy):
    python, isolated, script, folder, *command = unit["ExecStart"].split()
    assert isolated == "-I"
    assert script == f"/opt/fettle/deploy/{(deploy / 'with_secrets.py').name}"
    assert folder == "/etc/fettle/secrets"
    assert command == [python.replace("python", "fettle"), "serve"]


def test_it_runs_as_a_user_of_its_own_who_owns_the_data_alone(unit, text):
    assert unit["User"] == unit["Group"] == "fettle"
    assert environment(text)["FETTLE_DATA_DIR"] == f"/var/lib/{unit['StateDirectory']}"
    assert "ReadWritePaths" not in unit


def test_it_is_hardened_and_nothing_that_breaks_the_sandbox_is_set(unit):
    assert {name: unit[name] for name in HARDENED} == HARDENED
    assert not BREAKS_THE_SANDBOX & set(unit)
    assert unit["SystemCallFilter"].startswith("~")
    assert "@mount" not in unit["SystemCallFilter"]
    assert "AF_NETLINK" in unit["RestrictAddressFamilies"]  # bwrap brings its loopback up


def test_commands_get_control_groups_and_one_that_runs_out_of_memory_stops_nothing_else(unit):
    assert set(unit["Delegate"].split()) == {"cpu", "memory", "pids"}
    assert unit["OOMPolicy"] == "continue"


def test_it_is_left_the_time_to_drain_and_wrong_settings_are_not_tried_again(unit):
    assert unit["KillMode"] == "mixed"
    assert int(unit["TimeoutStopSec"]) >= 2 * DRAIN_SECONDS
    assert unit["RestartPreventExitStatus"] == "2"
    assert unit["StartLimitIntervalSec"] == "0", "what it depends on may be away for long"


@pytest.fixture
def here(text, tmp_path):
    """The unit with programs that are on this machine, whose checkout is not in /opt."""
    unit = tmp_path / "fettle.service"
    python = sys.executable.replace(" ", r"\x20")
    unit.write_text(text.replace("/opt/fettle/.venv/bin/python", python, 1))
    return unit


def analyze(*arguments):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: Debian's package systemd has it")
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_systemd_understands_every_line(here):
    ran = analyze("verify", str(here))
    said = [line for line in ran.stderr.splitlines() if "fettle.service" in line]
    assert (ran.returncode, said) == (0, [])


def test_systemd_calls_it_little_exposed(here):
    ran = analyze("security", "--offline=true", "--threshold=40", "--no-pager", str(here))
    if "unrecognized option" in ran.stderr:
        pytest.skip("this systemd is too old to judge a unit that is not loaded")
    assert ran.returncode == 0, ran.stdout[-300:] + ran.stderr
