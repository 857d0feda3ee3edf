"""The result of an MCP server's tool, as text."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agents.errors import ToolError
from agents.text import truncate, without_hidden
from agents.text.characters import plain_output

MOST = 60_000  # characters that are looked at; fewer reach the model


def text_of(result: CallToolResult) -> str:
    """Return the text; ToolError when the tool says that it failed."""
    parts = [_part(each) for each in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)[: 2 * MOST]]
    text = truncate("\n\n".join(parts), MOST, "ask for less")
    shown, _ = without_hidden(plain_output(text))
    if result.is_error:
        raise ToolError(f"The tool failed: {shown[:4_000] or 'it does not say why'}")
    return shown or "(no text)"


def _part(content: Any) -> str:
    """Return the text of one piece; pictures and sounds are told of, not passed on."""
    match content:
        case TextContent():
            return content.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[{resource.uri}]\n{resource.text}"
        case ResourceLink():
            return f"[a link: {content.uri}]"
        case ImageContent() | AudioContent():
            return f"[{content.type} left out]"
    return "[something that is no text left out]"
