"""Advisories and alerts on the scene of the other tests, and an App that may hear of them."""

import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from app.simulator.github.state.alerts import Affected

MAY = {"contents": "read", "metadata": "read", "vulnerability_alerts": "write"}
JINJA = Affected("pip", "Jinja2", "< 3.1.4", "3.1.4")
MINIMIST = Affected("npm", "minimist", ">= 1.0.0, < 1.2.6", "1.2.6")


@dataclass
class AppInbox:
    """What an App was told, oldest first."""

    github: Any

    def list_payloads(self, event):
        sent = [each for each in self.github.webhooks.log if each.event == event]
        return [json.loads(each.payload) for each in sent]

    def actions(self, event):
        return [each["action"] for each in self.list_payloads(event)]


async def install_listener(scene, aiohttp_server, *events, permissions=MAY):
    """Install an App that hears of the events; return its installation and what it is told."""

    async def take(request):
        await request.read()
        return web.Response(status=202)

    app = web.Application()
    app.router.add_post("/webhook", take)
    address = str((await aiohttp_server(app)).make_url("/webhook"))
    made = scene.github.create_app(
        "warden", webhook_url=address, permissions=permissions, events=events
    )
    installation = await scene.github.install(made.app_id, [scene.repository])
    return installation, AppInbox(scene.github)


def caller(scene, installation, **permissions):
    text = scene.github.tokens.mint(installation, None, permissions or None).text
    return scene.with_credential(text)


def advisory(scene, affected=JINJA, ghsa="GHSA-h75v-3vvj-5mfj", **more):
    return scene.github.publish_advisory(ghsa, [affected], **more)
