"""Fakes of the ports Model and Journal: a model that plays a list, and what was said to it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from agents.ports import Answer, Capabilities, Turn, Usage


class Killed(BaseException):
    """The process dies here."""


def use(name, **arguments):
    """Return a tool call as the model makes it."""
    key = hashlib.sha256(f"{name}{arguments}".encode()).hexdigest()[:12]
    return {"type": "tool_use", "id": f"toolu_{key}", "name": name, "input": arguments}


def say(text):
    """Return a block of prose."""
    return {"type": "text", "text": text}


@dataclass
class ListModel:
    """The port Model: answers what the list says; an exception in it is raised."""

    answers: list
    asked: list = field(default_factory=list)
    prompt_tokens: int = 100
    can: Capabilities = field(default_factory=Capabilities)

    async def capabilities(self, model):
        return self.can

    async def answer(self, query):
        self.asked.append(
            {
                "model": query.model,
                "system": query.system,
                "tools": json.dumps(list(query.tools)),
                "messages": json.dumps(list(query.messages)),
                "drop_unbound": query.drop_unbound,
                "max_tokens": query.max_tokens,
                "effort": query.effort,
            }
        )
        content = self.answers.pop(0)
        if isinstance(content, BaseException):
            raise content
        category = ""
        stop = "tool_use" if any(b["type"] == "tool_use" for b in content) else "end_turn"
        if content and content[0].get("stop"):
            told, *content = content
            stop, category = told["stop"], told.get("category", "")
        usage = Usage(input=self.prompt_tokens, output=10)
        return Answer(content, stop, usage, 0.01, query.model, "req", 0.1, category)


@dataclass
class MemoryJournal:
    """The port Journal, in memory; outlives a killed run like a database."""

    sessions: dict = field(default_factory=dict)
    others_today: float = 0.0

    async def turns(self, session):
        return [
            Turn(**{**vars(turn), "content": json.loads(text)})
            for turn, text in self.sessions.get(session, [])
        ]

    async def append(self, session, number, turn):
        entries = self.sessions.setdefault(session, [])
        assert number == len(entries), "two writers in one session"
        entries.append((turn, json.dumps(turn.content)))

    async def sum_usage(self):
        answers = [t for s in self.sessions.values() for t, _ in s if t.kind == "answer"]
        usage = sum((t.usage for t in answers), Usage())
        return usage, sum(t.cost_usd for t in answers), len(answers)

    async def spent_today(self):
        return (await self.sum_usage())[1] + self.others_today
