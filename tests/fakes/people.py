"""Fakes of the ports Approvals and Steering: what people decide and say while a run works."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agents.ports import Approval, Steer


@dataclass
class MemoryApprovals:
    """The port Approvals: `answers` are decided in turn as soon as the run waits for them."""

    answers: list = field(default_factory=list)
    asked: dict = field(default_factory=dict)
    used_up: list = field(default_factory=list)

    async def ask(self, asking):
        key = (asking.session, asking.call_id)
        if key not in self.asked:
            ident = f"id{len(self.asked) + 1}"
            self.asked[key] = (asking, Approval(id=ident, state="waiting", binding=asking.binding))
        return self.asked[key][1]

    async def all_decided(self, ids):
        for key, (asking, approval) in self.asked.items():
            if approval.id in ids and approval.state == "waiting":
                said = self.answers.pop(0)
                if isinstance(said, BaseException):
                    raise said
                self.asked[key] = (asking, approval.model_copy(update=said))
        return True

    async def claim(self, ids):
        free = [ident for ident in ids if ident not in self.used_up]
        self.used_up += free
        return free

    @property
    def askings(self):
        return [asking for asking, _ in self.asked.values()]


@dataclass
class MemorySteering:
    """The port Steering: what people said, and a bell for who waits for a cancel."""

    steers: list = field(default_factory=list)
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, kind, words="", *, by="mara", via="comment", usd=0.0, url=""):
        self.steers.append(
            Steer(
                number=len(self.steers) + 1,
                kind=kind,
                words=words,
                usd=usd,
                by=by,
                role="maintain",
                via=via,
                url=url,
                at=1_767_225_600.0,
            )
        )
        self.bell.set()

    async def list_after(self, number=0):
        return [steer for steer in self.steers if steer.number > number]

    async def wait_for_cancel(self):
        while True:
            for steer in self.steers:
                if steer.kind == "cancel":
                    return steer
            self.bell.clear()
            await self.bell.wait()
