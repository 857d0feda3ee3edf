"""The manual of `fettle policy`."""

from __future__ import annotations

from collections.abc import Sequence

POLICY = """
Look after a repository's policy, the file `.github/fettle.yml`.
"""

TEST = """
Hold calls that runs have made against a changed policy, and explain each verdict.

For every tool call it tells what the gate says, which rule decided, and in which file and line the
rule stands: of your policy, or of Fettle's own rules. What becomes weaker or stricter than under
the current policy comes first. Nothing is run.

FILE is the changed policy, `.github/fettle.yml` if you name none. The current one is what the
clone that it lies in has committed there; without a clone, Fettle's defaults.

The calls are those of this machine's runs, or of a file. A call that such a run could not make,
because its arguments were wrong, is left out.
"""

CHECK = """
Say what is wrong with a policy, each fault with its line and column.

FILE is the policy, `.github/fettle.yml` if you name none. Fettle reads it from the default branch
alone, and does nothing in a repository whose policy is not valid. A pull request that edits it gets
the check `fettle policy`, which says the same.
"""

SCHEMA = """
Print the JSON schema of the policy, with what every key does.

Editors check the file against it while you write. With the YAML language server, keep the schema
beside the file and put the line below first into the file.
"""

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "policy": {},
    "check": {
        "Examples": (
            ("fettle policy check", "the file of the clone you stand in"),
            ("fettle policy check new.yml --json | jq '.faults'", "use it in a script"),
        ),
        "Exit codes": (
            ("0", "it is valid"),
            ("1", "it is not; the faults are listed as FILE:LINE:COLUMN"),
            ("2", "it cannot be read"),
        ),
    },
    "schema": {
        "Examples": (
            ("fettle policy schema >.github/fettle.schema.json", "keep it beside the file"),
            ("# yaml-language-server: $schema=./fettle.schema.json", "the first line of the file"),
        ),
    },
    "test": {
        "Examples": (
            ("fettle policy test", "the file of the clone you stand in, on the newest runs"),
            ("fettle policy test new.yml --against old.yml --calls calls.jsonl", "without a run"),
            ("fettle policy test --run 0006-f3a9 --json | jq '.weaker'", "use it in a script"),
        ),
        "A line of calls": (
            ('{"tool": "bash", "arguments": {"command": "make deploy"},', ""),
            (' "stage": "implement", "capability": "change", "tainted": false}', ""),
        ),
        "Environment": (
            ("FETTLE_DATA_DIR", "the data folder of the runs"),
            ("FETTLE_DATABASE_URL", "the server's database, when it is not in that folder"),
        ),
        "Exit codes": (
            ("0", "nothing that was refused or asked about gets easier"),
            ("1", "something gets easier; it is listed"),
            ("2", "the policy is not valid, or there is nothing to test it on"),
        ),
    },
}
