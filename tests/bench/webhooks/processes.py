"""The servers of the bench, each a process of its own: ours, the bare one, and Probot."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.bench.npm import npm_home

HERE = Path(__file__).resolve().parent
PROBOT = HERE / "probot"
EXAMPLES = "node_modules/@octokit/webhooks-examples/api.github.com/index.json"
SECRET = "a webhook secret of the bench"

MADE_UP = {
    "action": "labeled",
    "issue": {
        "number": 1,
        "title": "It is broken",
        "body": "Every sentence of a long report. " * 300,
        "user": {"login": "author", "id": 7, "type": "User"},
        "html_url": "https://github.com/octo/hello/issues/1",
    },
    "label": {"name": "bot:resolve"},
    "repository": {
        "id": 99,
        "name": "hello",
        "owner": {"login": "octo", "id": 3},
        "default_branch": "main",
    },
    "sender": {"login": "maintainer", "id": 8, "type": "User"},
}
"""For where no recorded payload is at hand; as large as a real one."""


class ServerProcess:
    """A server that prints its port once it listens, and ends when it is told to."""

    def __init__(self, command: list[str], *, core: int | None, **options) -> None:
        allowed = os.sched_getaffinity(0)
        if core is not None:
            os.sched_setaffinity(0, {core})  # what is started inherits it
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            **options,
        )
        os.sched_setaffinity(0, allowed)
        self.process.stdin.write(f"{SECRET}\n")
        self.process.stdin.flush()
        self.port = int(self.process.stdout.readline())

    def cpu_seconds(self) -> float:
        """Return what it has used so far, in the program and in the kernel."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        used = text.rsplit(")", 1)[1].split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class FettleServer(ServerProcess):
    """`bare`, `fettle` or `dispatching`: see server.py."""

    def __init__(self, kind: str, folder: Path, core: int | None = None) -> None:
        command = [sys.executable, str(HERE / "server.py"), kind, "--folder", str(folder)]
        super().__init__(command, core=core)


class ProbotServer(ServerProcess):
    """Probot with a handler that does nothing."""

    def __init__(self, home: Path, folder: Path, core: int | None = None) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        key_file = folder / "probot.pem"
        key_file.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        )
        environ = {
            "PATH": os.environ["PATH"],
            "NODE_ENV": "production",
            "PORT": str(free_port()),
            "KEY_FILE": str(key_file),
            "WEBHOOK_SECRET": SECRET,
        }
        super().__init__(["node", str(home / "server.mjs")], core=core, cwd=home, env=environ)

    def stop(self) -> None:
        self.process.terminate()
        super().stop()


def probot_home() -> tuple[Path | None, str]:
    """Return where Probot is installed; None and why, if it cannot be."""
    return npm_home("probot", PROBOT, EXAMPLES)


def recorded_payload(home: Path | None) -> tuple[dict, str]:
    """Return a payload of `issues.labeled`, and where it is from."""
    if home is None:
        return MADE_UP, "made up"
    events = json.loads((home / EXAMPLES).read_text())
    [issues] = [event for event in events if event["name"] == "issues"]
    payload = next(example for example in issues["examples"] if example["action"] == "labeled")
    payload["label"]["name"] = "bot:resolve"
    return payload, "recorded at GitHub (@octokit/webhooks-examples)"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
