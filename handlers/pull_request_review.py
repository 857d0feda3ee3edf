"""The `pull_request_review` event: a submitted review may ask for changes.

GitHub wraps each reply in a thread into a review of its own, `commented` and without a body. A
single new remark on a line looks the same, so the delivery does not tell which of them it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.requests import AddressReview
from handlers.ignored import NOT_OURS, Ignored, why_unheard
from handlers.payloads.common import ReviewSubmitted
from handlers.pull_request import ADDRESS_LABEL, find_author

ASKING = frozenset({"approved", "changes_requested", "commented"})
"""States of reviews that may ask for changes: many approve and say what is to be done first."""

_APPROVING = frozenset(
    (
        *("agreed", "amazing", "approve", "approved", "approving", "awesome", "cheers", "clean"),
        *("cool", "excellent", "fair", "fine", "good", "great", "lgtm", "love", "nice", "ok"),
        *("okay", "perfect", "right", "see", "sense", "sgtm", "ship", "solid", "super", "thank"),
        *("thanks", "understood", "well", "wonderful", "works"),
        # Thanks and praise in the other languages that threads are answered in.
        *("dank", "danke", "merci", "parfait", "gracias", "perfecto", "grazie", "perfetto"),
        *("obrigada", "obrigado", "perfeito", "bedankt", "dzięki", "dziękuję", "спасибо"),
        *("отлично", "ありがとう", "ありがとうございます", "谢谢", "谢谢你", "多谢", "감사합니다"),
        *("고마워요", "고맙습니다"),
    )
)
_BESIDE = frozenset(
    (
        *("a", "and", "enough", "for", "from", "got", "i", "is", "it", "job", "like", "looks"),
        *("makes", "me", "much", "pr", "so", "that", "the", "this", "to", "very", "with", "work"),
        *("you", "vielen", "schön", "sehr", "gut", "beaucoup", "bien", "muchas", "mille", "molte"),
        *("muito", "je", "wel", "bardzo", "большое"),
    )
)
_NAMED = re.compile(
    rf"\b({'|'.join(sorted(_APPROVING))}) (?:to (?:go|merge)|fix|changes?|one)\b", re.IGNORECASE
)
"""What is approved, as in `nice fix`; by themselves these words ask for something."""
_AGAINST = (
    *("?", "`", "@", "#", ":-1:", ":thumbsdown:", ":confused:"),
    *("\N{THUMBS DOWN SIGN}", "\N{CONFUSED FACE}", "\N{THINKING FACE}", ":thinking:"),
    *("\N{FULLWIDTH QUESTION MARK}", "\N{ARABIC QUESTION MARK}"),
)
"""What is never praise, whatever stands beside it."""
_EMOJI = re.compile(r":[a-z0-9_+-]+:")
_WORDS = re.compile(r"\w+(?:'\w+)?")


def is_praise(body: str) -> bool:
    """Return whether words approve and ask for nothing: `LGTM :tada:`, `I see.`, `Thank you!`.

    Some word approves, and every other is one of few; a question, code or a word that is not known
    is read as a remark, and so is a yes, which answers something. No words are praise as well, but
    for the emoji that say no.
    """
    text = body.lower()
    if len(text) > 200 or any(mark in text for mark in _AGAINST):
        return False
    words = set(_WORDS.findall(_NAMED.sub(r"\1", _EMOJI.sub(" ", text))))
    return not words or (bool(words & _APPROVING) and words <= _APPROVING | _BESIDE)


def handle_submitted(payload: Mapping[str, Any]) -> AddressReview | Ignored:
    """Ask for the review to be addressed. Raises pydantic.ValidationError."""
    event = ReviewSubmitted.model_validate(payload)
    author = find_author(event.pull_request)
    reason = (
        _why_not_the_review(event)
        or why_unheard("review", event.review.user, event.sender)
        or _why_not_the_pull(event)
    )
    if reason is not None or event.installation is None or author is None:
        return Ignored(reason or "nobody can be named whose work it is")
    assert event.review.user is not None
    return AddressReview(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=event.pull_request.number,
        title=event.pull_request.title,
        author=author.person,
        asked_by=event.review.user.person,
        url=event.pull_request.html_url,
        review_id=event.review.id,
        submitted_at=at.timestamp() if (at := event.review.submitted_at) else 0.0,
        via="review",
    )


def _why_not_the_review(event: ReviewSubmitted) -> str | None:
    if event.installation is None:
        return NOT_OURS
    if event.review.state not in ASKING:
        return "the review asks for nothing"
    return None


def _why_not_the_pull(event: ReviewSubmitted) -> str | None:
    """Return why no run is meant, where labels tell: most reviews are of people's own work."""
    author, labels = event.pull_request.user, event.pull_request.labels
    if author is None or author.type == "Bot" or labels is None:
        return None
    if any(label.name == ADDRESS_LABEL for label in labels):
        return None
    return f"the pull request is a person's, and without the label {ADDRESS_LABEL}"
