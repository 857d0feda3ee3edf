"""REST endpoints of review comments: list, create, reply, edit, react."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from app.simulator.github.answers import Answer, ApiError, Json, check_text, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.rest.issues import Text, react
from app.simulator.github.rest.pulls import READ, WRITE, pull_of
from app.simulator.github.rest.reviews import commit_in
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.issues import reaction_json
from app.simulator.github.schemas.reviews import remark_json
from app.simulator.github.state.reviews import Inline, LineRemark, Side, Thread

routes = Routes()
ON_PULL = "/pulls/{number}/comments"
ONE = "/pulls/comments/{comment_id}"
RESOURCE = "PullRequestReviewComment"
AHEAD = "pull_request_review_thread"


class NewRemark(Input):
    """Body of a new comment on a line, or of an answer to one."""

    body: str
    commit_id: str | None = None
    path: str | None = None
    line: int | None = None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    in_reply_to: int | None = None
    subject_type: Literal["line", "file"] | None = None


def _remark(call: Call) -> LineRemark:
    return require_found(call.repository.remark(call.number("comment_id")))


@routes.add("GET", ON_PULL, needs=READ)
async def list_remarks(call: Call) -> Answer:
    """Return what was said about single lines, in the order that is asked for."""
    query = call.request.query
    remarks = [each for each in pull_of(call).remarks() if each.updated_at >= _parse_since(call)]
    if query.get("sort") in ("created", "updated"):
        updated = query["sort"] == "updated"
        remarks.sort(key=lambda each: (each.updated_at if updated else each.created_at, each.id))
        if query.get("direction") == "desc":
            remarks.reverse()
    return call.page([remark_json(call.world, each) for each in remarks])


def _parse_since(call: Call) -> datetime:
    told = call.request.query.get("since")
    try:
        found = datetime.fromisoformat(told) if told else datetime.fromtimestamp(0, UTC)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except ValueError:
        raise ApiError(422, "Invalid request.\n\nsince is not a date") from None


@routes.add("POST", ON_PULL, needs=WRITE)
async def create_remark(call: Call) -> Answer:
    """Comment on a line, or answer in a thread."""
    pull, sent = pull_of(call), call.parse_body(NewRemark)
    body = check_text(sent.body, RESOURCE)
    if sent.in_reply_to is not None:
        return _reply_to_thread(call, _thread(call, sent.in_reply_to), body)
    if sent.subject_type == "file":
        raise ApiError(501, "The local GitHub knows no comments on whole files: send `line`.")
    if sent.commit_id is None or sent.path is None or sent.line is None:
        raise ApiError(422, 'Invalid request.\n\n"commit_id", "path", "line" weren\'t supplied.')
    inline = Inline(sent.path, sent.line, body, sent.side, sent.start_line, sent.start_side)
    commit = await commit_in(call, pull, sent.commit_id)
    try:
        review = await call.parts.reviews.submit(
            pull, call.actor, "COMMENTED", "", inlines=[inline], commit=commit
        )
    except ApiError as refused:
        raise _reword(refused) from None
    return Answer(201, remark_json(call.world, review.remarks[0]))


def _reword(refused: ApiError) -> ApiError:
    """Return the refusal as this call words it."""
    [reason] = refused.errors or [""]
    field = {"Path": "path", "Start": "start_line"}.get(str(reason).split(" ")[0], "line")
    message = f"{AHEAD}.{field} must be part of the diff"
    error = {"resource": RESOURCE, "code": "custom", "field": f"{AHEAD}.{field}"}
    blank = {"resource": RESOURCE, "code": "missing_field", "field": f"{AHEAD}.diff_hunk"}
    return ApiError(422, "Validation Failed", errors=[error | {"message": message}, blank])


@routes.add("POST", f"{ON_PULL}/{{comment_id}}/replies", needs=WRITE)
async def reply(call: Call) -> Answer:
    """Answer in a thread; only what began it can be answered."""
    pull_of(call)
    body = check_text(call.parse_body(Text).body, RESOURCE)
    return _reply_to_thread(call, _thread(call, call.number("comment_id")), body)


def _reply_to_thread(call: Call, thread: Thread, body: str) -> Answer:
    remark = call.parts.reviews.reply(thread, call.actor, body)
    return Answer(201, remark_json(call.world, remark))


def _thread(call: Call, first: int) -> Thread:
    threads = (each for each in pull_of(call).threads if each.remarks[0].id == first)
    return require_found(next(threads, None))


@routes.add("GET", ONE, needs=READ)
async def get_remark(call: Call) -> Json:
    """Return a comment on a line."""
    return remark_json(call.world, _remark(call))


@routes.add("PATCH", ONE, needs=WRITE)
async def update_remark(call: Call) -> Json:
    """Replace the text of a comment on a line."""
    remark, body = _remark(call), check_text(call.parse_body(Text).body, RESOURCE)
    call.parts.reviews.edit_remark(remark, call.actor, body)
    return remark_json(call.world, remark)


@routes.add("DELETE", ONE, needs=WRITE)
async def delete_remark(call: Call) -> Answer:
    """Remove a comment on a line."""
    call.parts.reviews.delete_remark(_remark(call), call.actor)
    return Answer(204, None)


@routes.add("GET", f"{ONE}/reactions", needs=READ)
async def list_reactions(call: Call) -> Answer:
    """Return the reactions to a comment on a line."""
    return call.page([reaction_json(call.world, each) for each in _remark(call).reactions])


@routes.add("POST", f"{ONE}/reactions", needs=WRITE)
async def react_to_remark(call: Call) -> Answer:
    """React to a comment on a line: 201, or 200 when it stood already."""
    return react(call, _remark(call))
