"""REST endpoints of reviews: list, submit, edit, dismiss, request a reviewer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.simulator.github.accounts import Account
from app.simulator.github.answers import Answer, ApiError, Json, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.rest.pulls import READ, WRITE, pull_of
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.common import account_json
from app.simulator.github.schemas.pulls import pull_simple_json
from app.simulator.github.schemas.reviews import review_json, review_remark_json
from app.simulator.github.state.reviews import Inline, Review, ReviewState, Side
from app.simulator.github.state.world import Pull

routes = Routes()
ONE = "/pulls/{number}/reviews/{review_id}"
REVIEWERS = "/pulls/{number}/requested_reviewers"
STATES: dict[str, ReviewState] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}


class NewInline(Input):
    """A comment of a new review."""

    path: str
    body: str
    line: int | None = None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    position: int | None = None


class NewReview(Input):
    """Body of a new review."""

    commit_id: str | None = None
    body: str = ""
    event: Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"] | None = None
    comments: list[NewInline] = Field(default_factory=list)


class ReviewEdit(Input):
    """Body of a change of a review."""

    body: str


class Dismissal(Input):
    """Body of a dismissal."""

    message: str
    event: Literal["DISMISS"] | None = None


class Reviewers(Input):
    """Body of a request for reviews."""

    reviewers: list[str] = Field(default_factory=list)
    team_reviewers: list[str] = Field(default_factory=list)


def unprocessable(reason: str) -> ApiError:
    """Return a 422 as reviews have it."""
    return ApiError(422, "Unprocessable Entity", errors=[reason])


def _review(call: Call) -> Review:
    wanted = call.number("review_id")
    return require_found(next((each for each in pull_of(call).reviews if each.id == wanted), None))


@routes.add("GET", "/pulls/{number}/reviews", needs=READ)
async def list_reviews(call: Call) -> Answer:
    """Return a pull request's reviews, oldest first."""
    return call.page([review_json(call.world, each) for each in pull_of(call).reviews])


@routes.add("GET", ONE, needs=READ)
async def get_review(call: Call) -> Json:
    """Return a review."""
    return review_json(call.world, _review(call))


@routes.add("GET", f"{ONE}/comments", needs=READ)
async def list_review_comments(call: Call) -> Answer:
    """Return what one review says about single lines."""
    return call.page([review_remark_json(call.world, each) for each in _review(call).remarks])


@routes.add("POST", "/pulls/{number}/reviews", needs=WRITE)
async def create_review(call: Call) -> Json:
    """Review in one batch; a review that waits to be submitted is not kept here."""
    pull, sent = pull_of(call), call.parse_body(NewReview)
    if sent.event is None:
        raise ApiError(501, "The local GitHub keeps no pending reviews: send `event`.")
    _check_opinion(call, pull, sent)
    review = await call.parts.reviews.submit(
        pull,
        call.actor,
        STATES[sent.event],
        sent.body,
        inlines=[_inline(each) for each in sent.comments],
        commit=await commit_in(call, pull, sent.commit_id),
    )
    return review_json(call.world, review)


def _check_opinion(call: Call, pull: Pull, sent: NewReview) -> None:
    own = pull.issue.author.account is call.actor.account
    verbs = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}
    if own and sent.event in verbs:
        raise unprocessable(f"Can not {verbs[sent.event]} your own pull request")
    if sent.event != "APPROVE" and not sent.body.strip() and not sent.comments:
        raise unprocessable("Body can't be blank")


def _inline(sent: NewInline) -> Inline:
    if sent.line is None:
        if sent.position is not None:
            raise ApiError(501, "The local GitHub knows lines, not positions: send `line`.")
        raise unprocessable("Line could not be resolved")
    return Inline(sent.path, sent.line, sent.body, sent.side, sent.start_line, sent.start_side)


async def commit_in(call: Call, pull: Pull, wanted: str | None) -> str:
    """Return the commit that is meant; 422 when the pull request does not have it."""
    if wanted is None or wanted == pull.head_sha:
        return pull.head_sha
    known = await call.git.commits(f"{pull.base_sha}..{pull.head_sha}")
    if wanted not in {each.sha for each in known}:
        raise unprocessable("The commit_id is not part of the pull request")
    return wanted


@routes.add("PUT", ONE, needs=WRITE)
async def update_review(call: Call) -> Json:
    """Replace the text of an own review."""
    review, body = _review(call), call.parse_body(ReviewEdit).body
    if review.author.account is not call.actor.account:
        raise ApiError(403, "Resource not accessible by integration")
    call.parts.reviews.edit(review, call.actor, body)
    return review_json(call.world, review)


@routes.add("PUT", f"{ONE}/dismissals", needs=WRITE)
async def dismiss_review(call: Call) -> Json:
    """Let a review no longer count."""
    review, sent = _review(call), call.parse_body(Dismissal)
    if not sent.message.strip():
        raise unprocessable("Message can't be blank")
    call.parts.reviews.dismiss(review, call.actor, sent.message)
    return review_json(call.world, review)


# --- who is to review -----------------------------------------------------------------------------


@routes.add("GET", REVIEWERS, needs=READ)
async def list_reviewers(call: Call) -> Json:
    """Return who has been asked and has not answered yet."""
    asked = [account_json(call.world, each) for each in pull_of(call).requested]
    return {"users": asked, "teams": []}


@routes.add("POST", REVIEWERS, needs=WRITE)
async def request_reviewers(call: Call) -> Answer:
    """Ask people for a review, again where they have given one."""
    pull = pull_of(call)
    wanted = _accounts(call)
    call.parts.reviews.check_reviewers(pull, wanted)
    for account in wanted:
        call.parts.reviews.request(pull, account, call.actor)
    return Answer(201, pull_simple_json(call.world, pull))


@routes.add("DELETE", REVIEWERS, needs=WRITE)
async def withdraw_reviewers(call: Call) -> Json:
    """No longer ask people."""
    pull = pull_of(call)
    for account in _accounts(call):
        call.parts.reviews.withdraw(pull, account, call.actor)
    return pull_simple_json(call.world, pull)


def _accounts(call: Call) -> list[Account]:
    sent = call.parse_body(Reviewers)
    if sent.team_reviewers:
        raise ApiError(422, "Could not resolve to a node with the global id of 'team'.")
    found = [call.world.account(login) for login in sent.reviewers]
    if not found or None in found:
        raise unprocessable("Could not add requested reviewers to pull request.")
    return [each for each in found if each]
