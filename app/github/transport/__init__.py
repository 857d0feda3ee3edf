"""HTTP to GitHub: tokens, throttle, rate limits, ETags, errors, idempotent comments.

Whoever speaks with GitHub as the App's installation needs what stands here; the modules below are
for those who make the client, and for each other.
"""

from __future__ import annotations

from app.github.transport.bot_identity import BotIdentity, is_updater
from app.github.transport.client import GitHub
from app.github.transport.conversation import ConversationThread, NoConversation
from app.github.transport.errors import (
    InstallationGone,
    NotFound,
    NotPermitted,
    Suspended,
    TooManyPages,
    Unprocessable,
)
from app.github.transport.idempotent_comments import (
    COMMENT,
    COMMENTS,
    SETTLE,
    CommentPlace,
    MarkedComments,
    Posted,
    made_once,
    make_marker,
)
from app.github.transport.installation_client import InstallationClient
from app.github.transport.texts import (
    BODY,
    OutgoingText,
    clean_body,
    clean_line,
    describe_left_out,
    join_sections,
)
from app.github.transport.tokens import OPTIONAL, Profile, Scope, TokenBroker, every_permission
from app.github.transport.urls import Urls

__all__ = [
    "BODY",
    "COMMENT",
    "COMMENTS",
    "OPTIONAL",
    "SETTLE",
    "BotIdentity",
    "CommentPlace",
    "ConversationThread",
    "GitHub",
    "InstallationClient",
    "InstallationGone",
    "MarkedComments",
    "NoConversation",
    "NotFound",
    "NotPermitted",
    "OutgoingText",
    "Posted",
    "Profile",
    "Scope",
    "Suspended",
    "TokenBroker",
    "TooManyPages",
    "Unprocessable",
    "Urls",
    "clean_body",
    "clean_line",
    "describe_left_out",
    "every_permission",
    "is_updater",
    "join_sections",
    "made_once",
    "make_marker",
]
