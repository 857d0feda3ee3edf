"""Facts that GitHub states about a pull request; `handlers/access/pull_requests.py` judges them.

https://docs.github.com/graphql/reference/objects#pullrequest
https://docs.github.com/rest/pulls/reviews#get-a-review-for-a-pull-request
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agents.requests import AddressReview, FixChecks, OnPull, Person
from app.github.access.issue_facts import asker_role, found_at, person_of
from app.github.access.roles import role_of
from app.github.access.run_reader import REPOSITORY
from app.github.graphql.documents import load_document
from app.github.transport import (
    BotIdentity,
    InstallationClient,
    NotFound,
    Suspended,
    Unprocessable,
    is_updater,
)
from handlers.access.pull_requests import UNCALLED, PullFacts
from handlers.pull_request import ADDRESS_LABEL
from handlers.pull_request_review import ASKING, is_praise

REVIEWS = f"{REPOSITORY}/pulls/{{number}}/reviews"
COMMENTS = f"{REPOSITORY}/pulls/{{number}}/comments{{?per_page}}"
COMMIT = f"{REPOSITORY}/commits/{{ref}}"

_ASKING = re.compile(r"<!-- fettle run=\S+ key=thread-needs_human -->")
"""How an answer of Fettle's in a thread begins that asks people."""


async def pull_facts(
    client: InstallationClient, request: OnPull, own: BotIdentity, *, covered: bool
) -> PullFacts:
    """Return the facts that hold now; `covered`: another run has dealt with the request.

    Raises RunError when the pull request is gone, or its number leads to another repository.
    """
    if covered and request.via in UNCALLED:
        return PullFacts(covered=True)  # that decides, so GitHub is not asked
    try:
        role = await asker_role(client, request)
        pull = await found_at(client, request, load_document("pull_facts"))
        if pull["__typename"] != "PullRequest":
            return PullFacts(**role, is_pull_request=False)
        author = person_of(pull["author"])
        ours = author is not None and author.id == own.bot.id
        return PullFacts(
            **role,
            pull_open=pull["state"] == "OPEN",
            own=ours,
            label_on=not ours and await _label_on(client, request, pull),
            author=author,
            head=pull["headRefOid"],
            of_updater=author is not None and _is_updater(pull["author"], "__typename"),
            covered=covered,
            **await _describe_request(client, request, own, author),
        )
    except Suspended:
        return PullFacts(installation_suspended=True)


async def _label_on(client: InstallationClient, request: OnPull, pull: Mapping[str, Any]) -> bool:
    """Tell whether the label is on, and by somebody who could have asked for the work as well.

    The triage role may put labels on, and so does many a bot by what a stranger's change touches.
    """
    if all(label["name"] != ADDRESS_LABEL for label in pull["labels"]["nodes"]):
        return False
    events = [each for each in pull["timelineItems"]["nodes"] if each and each["label"]]
    actors = [each["actor"] for each in events if each["label"]["name"] == ADDRESS_LABEL]
    labeler = person_of(actors[-1]) if actors else None
    if labeler is None:
        return False
    return (await role_of(client, request.repository, labeler)).may_write


async def _describe_request(
    client: InstallationClient, request: OnPull, own: BotIdentity, opener: Person | None
) -> dict[str, Any]:
    """Return what matters for this way of asking alone."""
    where = {"owner": request.repository.owner, "repo": request.repository.name}
    numbered = {**where, "number": str(request.number)}
    match request:
        case AddressReview(via="review"):
            return await _review(client, {**numbered, "id": str(request.review_id)}, own)
        case AddressReview(via="label"):
            reviews = client.getiter(REVIEWS, numbered)
            return {"reviewed": any([_by_person(each) async for each in reviews])}
        case FixChecks(via="checks"):
            made = await _find_author(client, {**where, "ref": request.head})
            theirs = opener is not None and made.get("id") == opener.id
            return {
                "head_is_ours": made.get("id") == own.bot.id,
                "head_is_updaters": theirs and _is_updater(made, "type"),
            }
    return {}


async def _review(
    client: InstallationClient, where: Mapping[str, str], own: BotIdentity
) -> dict[str, Any]:
    """Return how the review stands. One of mere replies is told from others by its comments."""
    try:
        review = await client.getitem(f"{REVIEWS}/{{id}}", where, named=True)
    except NotFound:
        return {}
    state, body = review["state"].lower(), (review["body"] or "").strip()
    substance = state == "changes_requested" or not is_praise(body)
    if not substance and state in ASKING:
        listed = client.getiter(f"{REVIEWS}/{{id}}/comments", where)
        comments = [each async for each in listed]
        substance = any(
            each.get("in_reply_to_id") is None and not is_praise(each["body"]) for each in comments
        ) or await _answers_us(client, where, own, comments)
    return {"review_state": state, "has_substance": substance}


async def _answers_us(
    client: InstallationClient,
    where: Mapping[str, str],
    own: BotIdentity,
    comments: Sequence[Mapping[str, Any]],
) -> bool:
    """Tell whether any of these says something in a thread in which Fettle has spoken.

    Where Fettle has asked there, whatever is said answers: also `OK`.
    """
    said = {each["in_reply_to_id"]: each for each in comments if each.get("in_reply_to_id")}
    if not said:
        return False
    ours: dict[int, str] = {}
    async for each in client.getiter(COMMENTS, {**where, "per_page": "100"}):
        if (each["user"] or {}).get("id") == own.bot.id:
            ours[each.get("in_reply_to_id") or each["id"]] = each["body"] or ""
    return any(
        thread in ours and (_ASKING.match(ours[thread]) or not is_praise(reply["body"]))
        for thread, reply in said.items()
    )


async def _find_author(client: InstallationClient, where: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the account that made the commit; empty where there is none."""
    try:
        commit = await client.getitem(COMMIT, where, named=True)
    except (NotFound, Unprocessable):  # 422 for what is no commit of this repository
        return {}
    return commit["author"] or {}


def _is_updater(account: Mapping[str, Any], kind: str) -> bool:
    return is_updater(account.get("login", ""), bot=account.get(kind) == "Bot")


def _by_person(review: Mapping[str, Any]) -> bool:
    return (review["user"] or {}).get("type") == "User" and review["state"] != "PENDING"
