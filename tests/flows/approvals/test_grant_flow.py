"""A plan that needs something asks once; one comment grants it, for this run."""

from __future__ import annotations

import re

import yaml

from tests.flows.conftest import SCRIPT, write_policy

POLICY = "protected_paths: [migrations/]"


def write_script(folder):
    """Return the script of a run whose plan needs a protected path, and which changes it."""
    acts = yaml.safe_load(SCRIPT.read_text("utf-8"))
    turns = {act["when"]: act["turns"] for act in acts}
    turns["# Plan the steps"][0]["call"][0]["submit_plan"]["needs"] = ["migrations/*.sql"]
    write = {"write": {"path": "migrations/2.sql", "content": "select 2;\n"}}
    turns["# Implement step 1 of 2"].insert(0, {"call": [write]})
    file = folder / "script.yml"
    file.write_text(yaml.safe_dump(acts))
    return file


async def test_one_comment_grants_what_the_plan_needs(make_place, tmp_path):
    files = write_policy(POLICY) | {"migrations/1.sql": "select 1;\n"}
    async with make_place(files=files, script=write_script(tmp_path)) as place:
        await place.label()
        await place.wait_for_parked()
        asked = await place.wait_for_comment("/bot approve ")
        assert "migrations/*.sql" in asked
        assert "Add without one too many: In calc.py" in asked
        await place.kill_and_restart()  # who waits loses nothing
        command = re.search(r"/bot approve \w+(?: \w+)?", asked)[0]
        await place.say("mara", command)
        outcome = await place.ends("pull_request")

        [pull] = place.pulls()
        assert outcome.ready
        assert await place.show(pull.head_sha, "migrations/2.sql") == "select 2;\n"
        assert "- `migrations/*.sql`: used" in pull.issue.body
        assert len([body for body in place.comments() if "/bot approve " in body]) == 1
