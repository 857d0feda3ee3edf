"""Check a request against its repository's policy, and pin the policy that the run begins under."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agents.policy import Found, InvalidPolicy, PinnedPolicy
from agents.requests import Command, Request
from handlers.access import policy as access_policy
from handlers.access.issues import AskerFacts, Refusal

ReadPolicy = Callable[[], Awaitable[Found]]
"""Reads the policy that holds for a run now."""
PolicyOf = Callable[[Command], Awaitable[Found]]
"""Reads the policy that holds now where the command was said."""


@dataclass(frozen=True)
class PolicyGate:
    """The policy check of one run."""

    request: Request
    read: ReadPolicy
    models: frozenset[str]
    """Names of the models that the operator lets policies name."""

    async def judge(self, asker: AskerFacts) -> tuple[Refusal | None, PinnedPolicy | None]:
        """Return the refusal, if any, and the policy that the run would begin under.

        Raises TransientError, and the other errors of reading the policy.
        """
        found = await self.read()
        refusal = access_policy.decide(self.request, found, asker, self.models)
        return refusal, None if isinstance(found, InvalidPolicy) else found.given
