"""A container engine for tests: notes its arguments, and runs commands outside of its own group."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(sys.argv[0]).parent
UID = 58996


class FakeContainerEngine:
    """This module as a program under a name of ours."""

    def __init__(self, folder, name="podman", rootless="false"):
        self.folder = folder
        program = folder / name
        # Shell first, then Python: no `#!` line can name an interpreter whose path has a space.
        shell = f"""#!/bin/sh\n''':'\nexec '{sys.executable}' "$0" "$@"\n'''\n"""
        program.write_text(shell + Path(__file__).read_text())
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (folder / "rootless").write_text(rootless)

    def calls(self, verb):
        told = (self.folder / "calls").read_text().splitlines()
        return [call for call in map(json.loads, told) if call[0] == verb]

    def left(self):
        return [path.stem for path in self.folder.glob("*.json")]

    def sandbox(self, **options):
        from app.sandbox.container.backend import Container  # noqa: PLC0415 - not for the program

        return Container(UID, image="image", path=str(self.folder), **options)


def main(arguments):
    with (ROOT / "calls").open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    verb, *rest = arguments
    return VERBS[verb](rest)


def info(_):
    print((ROOT / "rootless").read_text())
    return 0


def create(rest):
    image = rest.index("image")
    options, command = rest[:image], rest[image + 1 :]
    name = next(o for o in options if o.startswith("--name=")).removeprefix("--name=")
    labels = [o.removeprefix("--label=") for o in options if o.startswith("--label=")]
    if (ROOT / "refuses").exists():
        print((ROOT / "refuses").read_text())
        return 125
    state = {"command": command, "labels": dict(label.split("=", 1) for label in labels)}
    (ROOT / f"{name}.json").write_text(json.dumps(state))
    print("an id")
    return 0


def start(rest):
    file = ROOT / f"{rest[-1]}.json"
    state = json.loads(file.read_text())
    child = subprocess.Popen(
        state["command"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    (ROOT / f"{rest[-1]}.pid").write_text(str(child.pid))
    while data := os.read(child.stdout.fileno(), 65536):  # as engines do: output passes through us
        os.write(1, data)
    code = child.wait()
    file.unlink(missing_ok=True)
    return 128 - code if code < 0 else code


def remove(rest):
    name = rest[-1]
    if (ROOT / f"{name}.pid").exists():
        pid = int((ROOT / f"{name}.pid").read_text())
        for listed in Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(listed.read_text().rpartition(")")[2].split()[3])
                if session == pid:
                    os.kill(int(listed.parent.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                continue
    (ROOT / f"{name}.json").unlink(missing_ok=True)
    return 0


def ps(rest):
    wanted = next(o for o in rest if o.startswith("--filter=")).removeprefix("--filter=")
    for file in ROOT.glob("*.json"):
        labels = json.loads(file.read_text())["labels"]
        if wanted == f"name={file.stem}":
            print(file.stem)
        elif wanted.startswith("label="):
            print(file.stem, labels["fettle.sandbox.owner"])
    return 0


VERBS = {"info": info, "create": create, "start": start, "rm": remove, "ps": ps}

if __name__ == "__main__":
    time.sleep(float((ROOT / "slow").read_text()) if (ROOT / "slow").exists() else 0)
    sys.exit(main(sys.argv[1:]))
