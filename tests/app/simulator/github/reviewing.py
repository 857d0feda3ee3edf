"""A pull request with two hunks in one file, people who comment on it, and a listener."""

import json

from aiohttp import web

from app.simulator.github.state.reviews import Inline

LINES = [f"line {n}" for n in range(1, 41)]


def text(**changed):
    """Return forty lines, some of them other ones: `_6="line six"`."""
    found = list(LINES)
    for name, line in changed.items():
        found[int(name[1:]) - 1] = line
    return "".join(f"{line}\n" for line in found)


async def open_ten(scene, *, branch="bot/ten", opens=True):
    """Have ada open a pull request that changes lines 6 and 30."""
    github, repository, ada = scene.github, scene.repository, scene.ada
    if "ten.txt" not in scene.made:
        scene.made.append("ten.txt")
        await github.commit(repository, {"ten.txt": text()}, author=ada, message="Forty")
    files = {"ten.txt": text(_6="line six", _30="line thirty")}
    await github.commit(repository, files, author=ada, message="Change", branch=branch)
    if not opens:
        return None
    return await github.open_pull(repository, ada, title="Change it", head=branch)


async def comment_on_line(scene, pull, who, body, *, line=6):
    """Have somebody comment on a line."""
    inline = Inline("ten.txt", line, body)
    return await scene.github.submit_review(pull, who, comments=[inline])


async def listen(scene, aiohttp_server, events):
    """Return the list that payloads go into, each with its `_event`."""
    got = []

    async def take(request):
        payload = json.loads(await request.read())
        if "action" in payload:
            got.append(payload | {"_event": request.headers["X-GitHub-Event"]})
        return web.Response(status=202)

    app = web.Application()
    app.router.add_post("/", take)
    server = await aiohttp_server(app)
    scene.github.world.apps[scene.credentials.app_id].events[:] = events
    await scene.github.set_webhook(scene.credentials.app_id, str(server.make_url("/")))
    return got
