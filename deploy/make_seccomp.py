"""Make deploy/seccomp.json from a container engine's default profile, with what bubblewrap needs.

    python deploy/make_seccomp.py /usr/share/containers/seccomp.json >deploy/seccomp.json

The engines' own profiles refuse an ordinary user what a sandbox is made of; nothing else is added.
AF_VSOCK, which leads out of a virtual machine, is taken away. The profile that this began with is
the one of containers/common 0.50 (Apache-2.0).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SANDBOXES = (
    "clone",
    "clone3",
    "mount",
    "pivot_root",
    "sethostname",
    "setns",
    "umount",
    "umount2",
    "unshare",
)
VSOCK = 40
KNOWN = ("names", "action", "errnoRet", "args", "comment", "includes", "excludes")


def main(path: str) -> None:
    """Print the profile made from the one in this file."""
    given = json.loads(Path(path).read_text())
    rules = [_plain(rule) for rule in given["syscalls"]]
    profile = {
        "defaultAction": given["defaultAction"],
        "defaultErrnoRet": given.get("defaultErrnoRet", 1),
        "archMap": given["archMap"],
        "syscalls": [rule for rule in rules if rule["names"]] + _own(),
    }
    sys.stdout.write(json.dumps(profile, indent=1) + "\n")


def _plain(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule without the calls that have one of ours, and without empty fields."""
    kept = {key: value for key, value in rule.items() if key in KNOWN and value}
    kept["names"] = sorted(set(rule["names"]) - {*SANDBOXES, "socket"})
    return kept


def _own() -> list[dict[str, Any]]:
    no_vsock = {"index": 0, "value": VSOCK, "op": "SCMP_CMP_NE"}
    return [
        {
            "names": list(SANDBOXES),
            "action": "SCMP_ACT_ALLOW",
            "comment": "bubblewrap: what a sandbox is made of",
        },
        {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [no_vsock]},
    ]


if __name__ == "__main__":
    main(sys.argv[1])
