"""A container engine for tests: notes its arguments, and runs commands outside of its own group."""

import hashlib
import json
import os
import py_compile
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

ROOT = Path(sys.argv[0]).parent
UID = 58996


@cache
def compile_once():
    """Return this module as Python reads it fastest."""
    with tempfile.TemporaryDirectory() as made:
        return Path(py_compile.compile(__file__, f"{made}/engine.pyc", doraise=True)).read_bytes()


class FakeContainerEngine:
    """This module as a program under a name of ours."""

    def __init__(self, folder, name="podman", rootless="false"):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        program = folder / name
        # It is called some dozen times in a run: compiled, and with nothing but Python's own.
        code = folder / "engine.pyc"
        code.write_bytes(compile_once())
        program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{code}' \"$@\"\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (folder / "rootless").write_text(rootless)
        self.add_image("image")

    def add_image(self, name, env=(), files=(), without=(), **settings):
        """Have an image of this name; return its id. `files`: of this machine, by paths inside.

        `without`: programs of /usr/bin that it lacks.
        """
        file = self.folder / "images"
        images = json.loads(file.read_text()) if file.exists() else {}
        about = {
            "Config": {"Env": list(env), **settings},
            "files": {k: str(v) for k, v in dict(files).items()},
        }
        about["without"] = list(without)
        if name in images:  # its tag is moved to the new one
            images[f"<none>@{images[name]['Id']}"] = images[name]
        about["Id"] = hashlib.sha256(json.dumps([name, about, len(images)]).encode()).hexdigest()
        file.write_text(json.dumps(images | {name: about}))
        return about["Id"]

    def drop(self, identity):
        """Have that image no more."""
        file = self.folder / "images"
        images = json.loads(file.read_text())
        left = {name: each for name, each in images.items() if each["Id"] != identity}
        file.write_text(json.dumps(left))

    def hold(self):
        """Hold commands from now on as a real engine does, by bubblewrap."""
        from app.sandbox.seccomp import build_filter  # noqa: PLC0415 - not for the program

        self.folder.chmod(0o755)
        (self.folder / "holds").write_bytes(build_filter())

    def calls(self, verb):
        told = (self.folder / "calls").read_text().splitlines()
        return [call for call in map(json.loads, told) if call[0] == verb]

    def has_made_any(self):
        """Tell whether any container was made."""
        return (self.folder / "calls").exists() and bool(self.calls("create"))

    def list_left(self):
        return [path.stem for path in self.folder.glob("*.json")]

    def sandbox(self, **options):
        from app.sandbox.container.backend import Container  # noqa: PLC0415 - not for the program

        return Container(UID, image="image", path=str(self.folder), **options)


def main(arguments):
    with (ROOT / "calls").open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    verb, *rest = arguments
    try:
        return VERBS[verb](rest)
    except Refused as refused:
        print(f"Error: {refused}")
        return 125


class Refused(Exception):
    """What an engine says when it does not do what it is told."""


def info(_):
    print((ROOT / "rootless").read_text())
    return 0


def read_images():
    """Return the images by each of their names; an id names one, too."""
    images = json.loads((ROOT / "images").read_text())
    return images | {each["Id"]: each for each in images.values()}


def ask_images(rest):
    if rest[0] == "ls":
        for name in json.loads((ROOT / "images").read_text()):
            print(name if "@" not in name else "<none>:<none>", "<none>")
        return 0
    verb, form, reference = rest
    assert (verb, form) == ("inspect", "--format={{.Id}} {{json .Config}}")
    found = read_images().get(reference)
    if found is None:
        raise Refused(f"inspecting object: {reference}: image not known")
    print(found["Id"], json.dumps(found["Config"]))
    return 0


SINGLE = {  # options that stand alone, and those that have one value
    *("--rm", "--pull=never", "--interactive", "--log-driver=none", "--no-healthcheck"),
    *("--network=none", "--hostname=sandbox", "--ipc=private", "--read-only", "--cap-drop=ALL"),
    *("--security-opt=no-new-privileges", "--security-opt=label=disable", "--entrypoint="),
    *("--image-volume=ignore", "--userns=host", "--userns=keep-id"),
}
VALUES = {
    "--name": r"fettle-[0-9a-f]{16}",
    "--label": r"fettle\.sandbox(\.owner)?=.+",
    "--security-opt": r"seccomp=/.+",
    "--user": r"\d+:\d+",
    "--pids-limit": r"\d+",
    "--memory": r"\d+b",
    "--memory-swap": r"\d+b",
    "--cpus": r"\d+(\.\d+)?",
    "--shm-size": r"\d+m",
    "--ulimit": r"(nproc|fsize|nofile|cpu|core)=\d+:\d+",
    "--tmpfs": r"/[^:,]+:[a-z0-9=,]+",
    "--mount": r"type=bind,source=/[^,]+,target=/[^,]+(,readonly)?",
    "--workdir": r"/.*",
}


def parse(rest):
    """Return the options by name, the image, and what follows it; any other option is an error."""
    options = {}
    for number, word in enumerate(rest):
        if not word.startswith("-"):
            return options, word, rest[number + 1 :]
        name, _, value = word.partition("=")
        if word not in SINGLE and not re.fullmatch(VALUES.get(name, "(?!)"), value):
            raise Refused(f"unknown flag: {word}")
        options.setdefault(name, []).append(value)
    raise Refused("no image is named")


def create(rest):
    if (ROOT / "refuses").exists():
        raise Refused((ROOT / "refuses").read_text())
    options, reference, command = parse(rest)
    image = read_images().get(reference)
    if image is None:
        raise Refused(f"{reference}: image not known")
    for mount in options.get("--mount", []):
        source = mount.split(",")[1].removeprefix("source=")
        if not Path(source).exists() and (ROOT / "holds").exists():
            raise Refused(f"statfs {source}: no such file or directory")
    labels = dict(label.split("=", 1) for label in options["--label"])
    state = {"command": command, "labels": labels, "options": options, "image": image}
    (ROOT / f"{options['--name'][0]}.json").write_text(json.dumps(state))
    print("an id")
    return 0


def start(rest):
    assert rest[:-1] == ["--attach", "--interactive"]
    file = ROOT / f"{rest[-1]}.json"
    state = json.loads(file.read_text())
    held = hold(state) if (ROOT / "holds").exists() else {"args": state["command"]}
    child = subprocess.Popen(
        **held, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    (ROOT / f"{rest[-1]}.pid").write_text(str(child.pid))
    while data := os.read(child.stdout.fileno(), 65536):  # as engines do: output passes through us
        os.write(1, data)
    code = child.wait()
    file.unlink(missing_ok=True)
    return 128 - code if code < 0 else code


def hold(state):
    """Return how to run a container's command as an engine does: by bubblewrap, in the image.

    An image of these tests is what this machine has in /usr, and what else lies in a folder of its
    own. Its variables are those of its first process.
    """
    options, image = state["options"], state["image"]
    uid, gid = options["--user"][0].split(":")
    seccomp = os.memfd_create("seccomp", 0)
    os.write(seccomp, (ROOT / "holds").read_bytes())
    os.lseek(seccomp, 0, os.SEEK_SET)
    drop = [f"{SPARE}/setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", "--no-new-privs"]
    drop += ["--inh-caps=-all", "--bounding-set=-all", "--"]
    argv = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    if os.geteuid() == 0:  # as engines do, which see folders that the container's user does not
        argv += [word for cap in CAPABILITIES for word in ("--cap-add", cap)]
    else:
        argv += ["--unshare-user", "--disable-userns", "--uid", uid, "--gid", gid]
        drop = []
    argv += ["--die-with-parent", "--hostname", "sandbox", "--seccomp", str(seccomp)]
    argv += [
        *list_system(image["without"]),
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/dev/shm",
    ]
    for inside, source in image.get("files", {}).items():
        argv += open_parents(inside)
        argv += ["--ro-bind", source, inside]
    for fresh in options["--tmpfs"]:
        argv += ["--perms", "1777", "--tmpfs", fresh.partition(":")[0]]
    for mount in sorted(options["--mount"], key=lambda each: each.split(",")[2].count("/")):
        _, source, target, *readonly = (part.partition("=")[2] or part for part in mount.split(","))
        argv += ["--ro-bind" if readonly else "--bind", source, target]
    argv += ["--remount-ro", "/", "--chdir", options["--workdir"][0], "--clearenv"]
    for pair in image["Config"].get("Env") or ["PATH=/usr/local/bin:/usr/bin:/bin"]:
        name, _, value = pair.partition("=")
        argv += ["--setenv", name, value]
    limits = " && ".join(f"ulimit -{LIMITS[name]} {most}" for name, most in list_limits(options))
    argv += [*drop, f"{SPARE}/bash", "-c", f'{limits} && exec "$@"', "bash", *state["command"]]
    return {"args": argv, "pass_fds": (seccomp,)}


CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
LIMITS = {"nproc": "u", "fsize": "f", "nofile": "n", "cpu": "t", "core": "c"}


def list_limits(options):
    for each in options["--ulimit"]:
        name, _, values = each.partition("=")
        most = int(values.partition(":")[0])
        yield name, most // 1024 if name == "fsize" else most


def open_parents(path):
    """Return the options for the folders above, which bubblewrap would make for itself alone."""
    above = [each for each in reversed(Path(path).parents) if each != Path("/")]
    return [word for each in above for word in ("--perms", "0755", "--dir", str(each))]


SPARE = "/run-by-the-engine"


def list_system(without):
    """Return the options for what every image of these tests has, but for some programs."""
    argv = ["--ro-bind", "/usr", "/usr", "--dir", "/etc", "--dir", "/home"]
    argv += ["--ro-bind", "/usr/bin", SPARE]
    if without:
        argv += ["--perms", "0755", "--tmpfs", "/usr/bin"]
        names = [each.name for each in Path("/usr/bin").iterdir() if each.name not in without]
        argv += [w for name in names for w in ("--symlink", f"{SPARE}/{name}", f"/usr/bin/{name}")]
    for name in ("bin", "sbin", "lib", "lib64"):
        path = Path("/", name)
        link = path.is_symlink()
        argv += ["--symlink", path.readlink(), path] if link else ["--ro-bind-try", path, path]
    for name in ("alternatives", "ssl/certs"):
        argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return list(map(str, argv))


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


VERBS = {"info": info, "image": ask_images, "create": create, "start": start}
VERBS |= {"rm": remove, "ps": ps}

if __name__ == "__main__":
    time.sleep(float((ROOT / "slow").read_text()) if (ROOT / "slow").exists() else 0)
    sys.exit(main(sys.argv[1:]))
