"""The calls around issues, made as an App makes them: sub-issues, dependencies, pushes, files."""

from __future__ import annotations

BASE = "/repos/forge/anvil"


async def make_link_calls(scene):
    """Make each of them, most in more than one way; the issues are new ones."""
    call, github, repository = scene.call, scene.github, scene.repository
    whole = await call("POST", f"{BASE}/issues", {"title": "The whole"})
    parts = [await call("POST", f"{BASE}/issues", {"title": f"Part {n}"}) for n in (1, 2)]
    numbers = [part["number"] for part in parts]
    for part in (*parts, parts[0]):  # the last is one too many
        await call(
            "POST", f"{BASE}/issues/{whole['number']}/sub_issues", {"sub_issue_id": part["id"]}
        )
    await call("POST", f"{BASE}/issues/{whole['number']}/sub_issues", {"sub_issue_id": 1})
    await call("GET", f"{BASE}/issues/{whole['number']}/sub_issues")
    await call("GET", f"{BASE}/issues/{whole['number']}")
    await call("GET", f"{BASE}/issues/{numbers[0]}/parent")
    await call("GET", f"{BASE}/issues/{whole['number']}/parent")
    waiting = f"{BASE}/issues/{numbers[1]}/dependencies/blocked_by"
    await call("POST", waiting, {"issue_id": parts[0]["id"]})
    await call("POST", waiting, {"issue_id": parts[0]["id"]})
    await call("GET", waiting)
    await github.commit(repository, {"b.py": "1\n"}, author=scene.ada, message="b", branch="bot/b")
    await github.commit(repository, {"b.py": "2\n"}, author=scene.ada, message="b", branch="bot/b")
    await call("GET", f"{BASE}/activity?ref=refs/heads/bot/b")
    await call("GET", f"{BASE}/activity?ref=bot/none")
