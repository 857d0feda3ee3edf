"""Scripts of the simulated model: YAML files of prompts and the answers to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    model_validator,
)

from agents.errors import ConfigError
from app.simulator.model.conversation import Message, is_prompt, prompt_text
from app.simulator.model.refusal import ErrorAnswer


class ScriptError(ConfigError):
    """A script cannot be read; the text names the file and the line."""


def _one_pair(call: dict[str, Any]) -> dict[str, Any]:
    if len(call) != 1:
        raise ValueError("a call is one `tool: {arguments}` pair")
    return call


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pattern(_Strict):
    """`when: {regex: ...}`: searched anywhere in the prompt, `^` and `$` at every line."""

    regex: Annotated[str, AfterValidator(_compiles)]


class ScriptTurn(_Strict):
    """One answer: prose, tool calls or both; `repeat` gives it several times in a row."""

    think: str | None = None
    say: str | None = None
    call: tuple[Annotated[dict[str, dict[str, Any]], AfterValidator(_one_pair)], ...] = ()
    repeat: Annotated[int, Field(ge=1)] = 1
    latency: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _says_or_calls(self) -> ScriptTurn:
        if not self.say and not self.call:
            raise ValueError("a turn needs `say`, `call` or both")
        return self


class ScriptPart(_Strict):
    """The turns that answer one prompt."""

    when: Annotated[str, Field(min_length=1)] | Pattern
    turns: Annotated[tuple[ScriptTurn, ...], Field(min_length=1)]

    @property
    def name(self) -> str:
        """Return what the part waits for, for messages to people."""
        return self.when if isinstance(self.when, str) else f"/{self.when.regex}/"

    def place_in(self, prompt: str) -> int | None:
        """Return where a line of the prompt begins with `when`, or the pattern is found."""
        when = self.when
        pattern = f"^{re.escape(when)}" if isinstance(when, str) else when.regex
        found = re.search(pattern, prompt, re.MULTILINE)
        return found.start() if found else None


@dataclass(frozen=True)
class Cue:
    """The turn to play now, and where in the script it stands."""

    turn: ScriptTurn
    part: str
    number: int
    """From 1, repetitions counted."""


class Script(RootModel[tuple[ScriptPart, ...]]):
    """A whole script. Stateless: what to play follows from the conversation alone."""

    model_config = ConfigDict(frozen=True)

    def cue(self, messages: Sequence[Message]) -> Cue:
        """Return the turn that comes next in this conversation.

        The latest prompt that any part answers counts; what a loop says in between (a reminder,
        a notice) does not start a new part. Refusal when there is none, or no turn is left.
        """
        prompts = [i for i, message in enumerate(messages) if is_prompt(message)]
        for index in reversed(prompts):
            part = self._part(prompt_text(messages[index]))
            if part is not None:
                said = sum(message["role"] == "assistant" for message in messages[index:])
                return _nth(part, said, messages)
        seen = prompt_text(messages[prompts[-1]]) if prompts else ""
        raise ErrorAnswer(f"the script has no part for the prompt that begins {_begin(seen)!r}")

    def _part(self, prompt: str) -> ScriptPart | None:
        places = [(part.place_in(prompt), part) for part in self.root]
        found = [(place, part) for place, part in places if place is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None


def _nth(part: ScriptPart, said: int, messages: Sequence[Message]) -> Cue:
    turns = [turn for turn in part.turns for _ in range(turn.repeat)]
    if said < len(turns):
        return Cue(turns[said], part.name, said + 1)
    raise ErrorAnswer(
        f"the script's part {part.name!r} has only {len(turns)} turns, and the conversation goes"
        f" on; the last message begins {_begin(str(messages[-1]['content']))!r}"
    )


def _begin(text: str) -> str:
    return text.strip()[:300]


def load_script(path: Path) -> Script:
    """Return the script in this YAML file, or raise ScriptError."""
    try:
        text = path.read_text(encoding="utf-8")
        return Script.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ScriptError(f"{path}: not YAML: {error}") from error
    except ValidationError as error:
        raise ScriptError(_explain_faults(path, text, error)) from error


def _explain_faults(path: Path, text: str, error: ValidationError) -> str:
    return "\n".join(
        f"{path}:{_line(text, fault['loc'])}: "
        f"{'.'.join(map(str, fault['loc'])) or 'script'}: {fault['msg']}"
        for fault in error.errors()
    )


def _line(text: str, place: Sequence[int | str]) -> int:
    """Return the line, from 1, of the value that the validator complains about."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for step in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step] if step < len(node.value) else node
        elif isinstance(node, yaml.MappingNode):
            found = [value for key, value in node.value if key.value == str(step)]
            node = found[0] if found else node
    return int(node.start_mark.line) + 1 if node is not None else 1
