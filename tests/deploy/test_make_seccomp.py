"""The profile for the container that Fettle runs in: sound, narrow, enough for bubblewrap."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import jsonschema_rs
import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
PROFILE = DEPLOY / "seccomp.json"
ENGINES_OWN = Path("/usr/share/containers/seccomp.json")

NEEDED = {
    *("clone", "clone3", "unshare", "mount", "umount", "umount2", "pivot_root", "setns"),
    "sethostname",
}

NAMES = {"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9_]+$"}, "minItems": 1}
ACTION = {"enum": ["SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"]}
CONDITIONS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "caps": {"type": "array", "items": {"type": "string", "pattern": "^CAP_[A-Z_]+$"}},
        "arches": {"type": "array", "items": {"type": "string"}},
        "minKernel": {"type": "string"},
    },
}
ARGUMENT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["index", "value", "op"],
    "properties": {
        "index": {"type": "integer", "minimum": 0, "maximum": 5},
        "value": {"type": "integer", "minimum": 0},
        "valueTwo": {"type": "integer", "minimum": 0},
        "op": {"type": "string", "pattern": "^SCMP_CMP_(NE|LT|LE|EQ|GE|GT|MASKED_EQ)$"},
    },
}
RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["names", "action"],
    "properties": {
        "names": NAMES,
        "action": ACTION,
        "errnoRet": {"type": "integer"},
        "args": {"type": "array", "items": ARGUMENT},
        "comment": {"type": "string"},
        "includes": CONDITIONS,
        "excludes": CONDITIONS,
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["defaultAction", "archMap", "syscalls"],
    "properties": {
        "defaultAction": {"const": "SCMP_ACT_ERRNO"},
        "defaultErrnoRet": {"type": "integer"},
        "archMap": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["architecture", "subArchitectures"],
                "additionalProperties": False,
                "properties": {
                    "architecture": {"type": "string", "pattern": "^SCMP_ARCH_"},
                    "subArchitectures": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
        "syscalls": {"type": "array", "items": RULE},
    },
}


@pytest.fixture
def rules():
    return json.loads(PROFILE.read_text())["syscalls"]


def unconditional(rules):
    return {
        name
        for rule in rules
        if rule["action"] == "SCMP_ACT_ALLOW" and not {"args", "includes", "excludes"} & set(rule)
        for name in rule["names"]
    }


def test_it_has_the_form_that_container_engines_read():
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(PROFILE.read_text()))


def test_it_knows_both_kinds_of_machines():
    known = {each["architecture"] for each in json.loads(PROFILE.read_text())["archMap"]}
    assert known >= {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}


def test_what_a_sandbox_is_made_of_is_allowed_and_by_one_rule_alone(rules):
    assert unconditional(rules) >= NEEDED
    assert all(sum(name in rule["names"] for rule in rules) == 1 for name in NEEDED)


def test_what_engines_refuse_is_still_refused(rules):
    dangerous = {
        *("bpf", "perf_event_open", "kexec_load", "init_module", "finit_module", "iopl", "acct"),
        *("swapon", "quotactl", "settimeofday", "open_by_handle_at", "userfaultfd", "kcmp"),
        *("setdomainname", "delete_module", "chroot", "vhangup", "fanotify_init"),
    }
    assert not unconditional(rules) & dangerous


def test_the_host_of_a_virtual_machine_cannot_be_reached(rules):
    (rule,) = [rule for rule in rules if "socket" in rule["names"]]
    assert rule["args"] == [{"index": 0, "value": 40, "op": "SCMP_CMP_NE"}]


@pytest.mark.skipif(not ENGINES_OWN.exists(), reason="podman's own profile is not installed")
def test_it_is_made_from_an_engines_own(rules):
    made = subprocess.run(
        ["python3", DEPLOY / "make_seccomp.py", ENGINES_OWN],
        capture_output=True,
        check=True,
    )
    assert unconditional(json.loads(made.stdout)["syscalls"]) >= NEEDED
    given = json.loads(ENGINES_OWN.read_text())["syscalls"]
    assert unconditional(rules) - NEEDED <= {n for rule in given for n in rule["names"]}


@pytest.fixture
def root():
    """The root of a container: this machine's programs and nothing else."""
    with tempfile.TemporaryDirectory(prefix="fettle-root-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for below in ("usr", "etc", "tmp", "proc", "dev", "sys", "run"):
            (folder / below).mkdir()
        for link in ("bin", "sbin", "lib", "lib64"):
            (folder / link).symlink_to(f"usr/{link}")
        yield folder


def test_bubblewrap_works_in_a_container_with_it_and_without_any_privilege(root):
    if shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("podman and runc are not installed")
    inner = (
        "bwrap --unshare-all --unshare-user --disable-userns --hostname held --die-with-parent"
        " --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib"
        " --symlink usr/lib64 /lib64 --proc /proc --dev /dev hostname"
    )
    command = [
        *("podman", "--runtime=runc", "--cgroup-manager=cgroupfs", "run", "--rm"),
        *("--network=none", "--ulimit=nofile=1000:1000", "--ulimit=nproc=1000:1000"),
        *("--user=10001", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
        *(f"--security-opt=seccomp={PROFILE}", "--security-opt=unmask=ALL"),
        *("--volume=/usr:/usr:ro", "--rootfs", str(root), "/bin/sh", "-c", inner),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "bwrap" not in ran.stderr and ran.stdout != "held\n":
        pytest.skip(f"podman runs no container here: {ran.stderr[-200:]}")
    assert ran.stdout == "held\n", ran.stderr
