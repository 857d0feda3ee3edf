"""The page of one approval: all that a yes would let run, and the form that decides."""

from __future__ import annotations

import hmac
from typing import Any

from aiohttp import web

from agents.text.literal import literal
from app.pages.page_context import PageContext
from app.pages.programs import read_form
from app.pages.render import LOGIN, answer, refuse
from app.records.approvals import StoredApproval
from app.store.runs import ApprovalDecision, StoredApprovals
from app.views.record import describe_approval

DIGEST = 6
"""Characters of the binding that whoever approves types: they have looked at this very call."""
LONGEST_REASON = 1_000
VERDICTS: dict[str, ApprovalDecision] = {"approve": "approved", "deny": "denied"}
_OTHER = (
    "The six characters are those of another call. Look at what is shown now, and type its own."
)
_DAMAGED = "Its record is damaged: it no longer says what was asked. It can only be denied."
_LATE = "It {standing}. The first answer counts, so nothing was changed."


class ApprovalPage:
    """Shows approvals, and takes decisions: the same as on GitHub and at the terminal."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._approvals = StoredApprovals(context.database)

    async def show(self, request: web.Request) -> web.Response:
        """Show the whole call."""
        return await answer(request, "approval", await self._view(await self._find(request)))

    async def decide(self, request: web.Request) -> web.Response:
        """Record the decision, if nobody was first and the call is the one that was looked at."""
        stored, form = await self._find(request), await read_form(request)
        verdict = VERDICTS.get(form.get("verdict", ""))
        if verdict is None:
            return refuse(request, 400, "Not done", "Say whether it is approved or denied.")
        if verdict == "approved":
            typed = form.get("digest", "").strip().lower()
            if stored.asking is None:
                return refuse(request, 409, "Not done", _DAMAGED)
            if not hmac.compare_digest(typed.encode(), stored.binding[:DIGEST].encode()):
                return refuse(request, 409, "Not done", _OTHER)
        login, run = request[LOGIN], await self._context.load_run(request, stored.run_id)
        verb = "approve" if verdict == "approved" else "deny"
        if objection := await self._context.find_objection(request, verb, run, stored):
            return refuse(request, 403, "Not done", objection)
        answered = await self._approvals.decide(
            stored.id,
            verdict=verdict,
            by=login.name,
            by_id=login.person.id if login.person else None,
            via="page",
            reason=form.get("reason", "")[:LONGEST_REASON],
        )
        if answered is None or not answered.counted:
            standing = (answered.approval if answered else stored).standing
            return refuse(request, 409, "Too late", _LATE.format(standing=standing))
        return web.Response(status=303, headers={"Location": f"/approvals/{stored.id}"})

    async def _find(self, request: web.Request) -> StoredApproval:
        stored = await self._approvals.get(request.match_info["approval"][:20])
        if stored is None:
            raise web.HTTPNotFound
        await self._context.load_run(request, stored.run_id)
        return stored

    async def _view(self, stored: StoredApproval) -> dict[str, Any]:
        redactor = self._context.redactor
        shown = literal(stored.asking.arguments) if stored.asking else None
        return {
            **describe_approval(stored, redactor),
            "run": stored.run_id,
            "repository": stored.repository,
            "number": stored.number or None,
            "call": redactor.clean(shown.text) if shown else "",
            "escaped": shown.escaped if shown else 0,
            "letters": list(shown.letters) if shown else [],
            "digest": stored.binding[:DIGEST],
        }
