"""Pydantic models of a Messages request: the part of the API that agents use, strictly."""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _base64(text: str) -> str:
    b64decode(text, validate=True)  # raises a ValueError
    return text


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CacheMarker(_Shape):
    """A cache breakpoint."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class _Markable(_Shape):
    cache_control: CacheMarker | None = None


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("text content blocks must contain non-whitespace text")
    return text


class Text(_Markable):
    """Prose; the API gives blank ones at times, and refuses to take them back."""

    type: Literal["text"]
    text: Annotated[str, AfterValidator(_not_blank)]
    citations: None = None


class PictureData(_Shape):
    """The file of a picture; the API takes these kinds alone."""

    type: Literal["base64"]
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: Annotated[str, Field(min_length=1), AfterValidator(_base64)]


class Picture(_Markable):
    """A picture that we show."""

    type: Literal["image"]
    source: PictureData


class Thinking(_Shape):
    """A thinking block, given back as it was received."""

    type: Literal["thinking"]
    thinking: str
    signature: str


class ToolUse(_Markable):
    """A tool call of the model."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    name: str
    input: dict[str, Any]
    caller: dict[str, Any] | None = None


class ToolResult(_Markable):
    """The answer to one tool call."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[Text] = ""
    is_error: bool = False


class Compaction(_Markable):
    """What takes the place of earlier messages, given back as it was received."""

    type: Literal["compaction"]
    content: Annotated[str, Field(min_length=1)] | None
    signature: str | None = None
    encrypted_content: str | None = None
    tool_changes: list[dict[str, Any]] | None = None


class CompactionConfig(_Shape):
    """The wish for a summary of the whole conversation, and nothing besides.

    https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
    """

    type: Literal["summarize"]
    instructions: str | None = None


Said = Annotated[Text | Picture | ToolResult, Field(discriminator="type")]
AnswerBlock = Annotated[Text | Thinking | ToolUse | Compaction, Field(discriminator="type")]


class UserMessage(_Shape):
    """What we say."""

    role: Literal["user"]
    content: Annotated[list[Said], BeforeValidator(_blocks), Field(min_length=1)]


class AssistantMessage(_Shape):
    """What the model said."""

    role: Literal["assistant"]
    content: Annotated[list[AnswerBlock], BeforeValidator(_blocks), Field(min_length=1)]


class ToolDefinition(_Markable):
    """A tool that the client runs."""

    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str = ""
    input_schema: dict[str, Any]
    strict: bool = False
    type: Literal["custom"] = "custom"


class BlockBinding(_Shape):
    """What becomes of thinking that was not signed over what stands before it."""

    prefix_mismatch_behavior: Literal["error", "drop_block"] | None = None


class Adaptive(_Shape):
    """The only thinking that current models take."""

    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None
    block_binding: BlockBinding | None = None


class OutputConfig(_Shape):
    """How much work to put in, and the form of the answer."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: dict[str, Any] | None = None


class ToolChoice(_Shape):
    """Current models refuse to be forced to a tool."""

    type: Literal["auto", "none"]
    disable_parallel_tool_use: bool = False


class MessagesRequest(_Shape):
    """The whole body of `POST /v1/messages`."""

    model: Annotated[str, Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1)]
    messages: Annotated[
        list[Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    system: str | list[Text] | None = None
    tools: list[ToolDefinition] | None = None
    tool_choice: ToolChoice | None = None
    stream: bool = False
    thinking: Adaptive | None = None
    output_config: OutputConfig | None = None
    cache_control: CacheMarker | None = None
    compaction: CompactionConfig | None = None
    metadata: dict[str, str] | None = None
    stop_sequences: list[str] | None = None


class CountRequest(MessagesRequest):
    """The body of `POST /v1/messages/count_tokens`."""

    max_tokens: int = 1
