"""Secrets that lie in files become the variables of the command, and of nothing else."""

import json
import os
import subprocess
import sys

import pytest

SHOW = "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]))"


@pytest.fixture
def run(deploy, tmp_path):
    def start(*command, user=None, **variables):
        return subprocess.run(
            [sys.executable, "-I", deploy / "with_secrets.py", *command],
            env={"PATH": os.environ["PATH"], **variables},
            capture_output=True,
            text=True,
            check=False,
            user=user,
            timeout=30,
        )

    return start


@pytest.fixture
def secrets(tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    return folder


def parse_output(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_each_file_becomes_the_variable_of_its_name_without_its_line_end(run, secrets):
    key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    (secrets / "FETTLE_PRIVATE_KEY").write_text(f"{key}\n")
    (secrets / "ANTHROPIC_API_KEY").write_text("sk-1\r\n")
    environment, arguments = parse_output(
        run(secrets, sys.executable, "-c", SHOW, "serve", "--x y")
    )
    assert environment["FETTLE_PRIVATE_KEY"] == key
    assert environment["ANTHROPIC_API_KEY"] == "sk-1"
    assert arguments == ["serve", "--x y"]


def test_other_files_and_folders_are_left_alone(run, secrets):
    for name in ("PATH", "LD_PRELOAD", "app.pem", "fettle_port", "FETTLE_X.bak", "..data"):
        (secrets / name).write_text("planted")
    (secrets / "FETTLE_FOLDER").mkdir()
    environment, _ = parse_output(run(secrets, sys.executable, "-c", SHOW))
    assert "planted" not in environment.values()
    assert "FETTLE_FOLDER" not in environment


def test_links_as_kubernetes_makes_them_are_followed(run, secrets):
    (secrets / "..data").mkdir()
    (secrets / "..data" / "ANTHROPIC_API_KEY").write_text("sk-2")
    (secrets / "ANTHROPIC_API_KEY").symlink_to("..data/ANTHROPIC_API_KEY")
    assert parse_output(run(secrets, sys.executable, "-c", SHOW))[0]["ANTHROPIC_API_KEY"] == "sk-2"


def test_a_variable_that_is_set_stands_and_no_folder_is_no_fault(run, secrets):
    (secrets / "ANTHROPIC_API_KEY").write_text("from the file")
    given = {"ANTHROPIC_API_KEY": "given"}
    assert parse_output(run(secrets, sys.executable, "-c", SHOW, **given))[0][
        "ANTHROPIC_API_KEY"
    ] == ("given")
    assert parse_output(run(secrets / "absent", sys.executable, "-c", SHOW))[1] == []


def test_the_command_line_of_the_command_holds_no_secret(run, secrets):
    (secrets / "ANTHROPIC_API_KEY").write_text("sk-3")
    look = "print(open('/proc/self/cmdline').read())"
    assert "sk-3" not in run(secrets, sys.executable, "-c", look).stdout


@pytest.mark.parametrize("content", [b"\xff\xfe planted", b"planted\0planted"])
def test_a_file_that_is_no_text_is_named_its_content_is_not_and_nothing_starts(
    run, secrets, content
):
    (secrets / "FETTLE_PRIVATE_KEY").write_bytes(content)
    result = run(secrets, sys.executable, "-c", SHOW)
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"The secret {secrets}/FETTLE_PRIVATE_KEY cannot be read" in result.stderr
    assert "it is not text" in result.stderr
    assert "planted" not in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_somebody_else_is_told_which_file_and_what_to_do(deploy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    for path in (folder, *folder.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    folder.chmod(0o755)
    (folder / "ANTHROPIC_API_KEY").write_text("sk-4")
    (folder / "ANTHROPIC_API_KEY").chmod(0o600)
    script = (deploy / "with_secrets.py").read_text()
    result = subprocess.run(
        ["/usr/bin/python3", "-I", "-", folder, "true"],
        input=script,
        user=58999,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "ANTHROPIC_API_KEY cannot be read by user 58999: Permission denied" in result.stderr
    assert "sk-4" not in result.stderr


def test_without_a_command_it_says_how_it_is_used(run, secrets):
    result = run(secrets)
    assert result.returncode == 1
    assert "usage: with_secrets.py FOLDER COMMAND" in result.stderr
