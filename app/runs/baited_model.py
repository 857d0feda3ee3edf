"""The port `Model` of one run: an answer that holds the run's bait ends the run.

Whatever a run asks of others, and whatever it says in public, stands in an answer first.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.ports import Answer, Capabilities, Model, Query
from app.secrets.bait import RunBait


class BaitedModel:
    """Looks for bait in every answer, before anything is done with it."""

    def __init__(self, model: Model, bait: RunBait) -> None:
        self._model = model
        self._bait = bait

    async def capabilities(self, model: str) -> Capabilities:
        """Return what the model understands."""
        return await self._model.capabilities(model)

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer. Raises BaitTaken."""
        answer = await self._model.answer(query)
        for text in _list_texts(answer.content):
            self._bait.require_none("an answer of the model", text)
        return answer


def _list_texts(value: object) -> Iterator[str]:
    """Yield the texts of a JSON value; thoughts are nobody's words and go nowhere."""
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _list_texts(each)
        case {"type": "thinking" | "redacted_thinking"}:
            return
        case dict():
            for each in value.values():
                yield from _list_texts(each)
