"""Find the `uses:` lines of GitHub's workflows and composite actions, and change only their refs.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

LARGEST = 1_000_000  # bytes of one file; GitHub itself refuses larger workflows
_DEEPEST = 50  # parsing takes minutes where it goes deeper and deeper
_WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_ACTION_NAMES = ("action.yml", "action.yaml")
_USE = re.compile(
    r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)(?P<path>(?:/[A-Za-z0-9._-]+)*)"
    r"@(?P<ref>[A-Za-z0-9][A-Za-z0-9._/-]*)"
)
_RELEASE = re.compile(r"v?\d[\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BEFORE = re.compile(r"(?:[&!]\S*\s+)*")
"""The anchor and the tag that may stand before a value."""
_COMMENT = re.compile(r"[ \t]+#[^\r\n]*")
_VERSION = re.compile(
    r"(?<![\w./-])(?:v\d+(?:\.\d+){0,2}|\d+(?:\.\d+){1,2})(?:-[\w.]+)?(?![\w./-])"
)

Shape = tuple[object, ...]


@dataclass(frozen=True)
class ActionUse:
    """One line that has an action, or a reusable workflow, of some repository run."""

    repository: str
    """As it is written, like `actions/checkout`."""
    path: str
    """What follows it, with a slash at the beginning; empty: nothing does."""
    ref: str
    """A tag, a branch or a commit; empty where the line is written so that nobody can tell."""
    line: int
    """From 1."""
    span: tuple[int, int] = (0, 0)
    """Where the ref stands in the text; empty where it must not be changed."""
    comment: tuple[int, int] = (0, 0)
    """Where a version stands in the comment behind it; empty: none does."""
    version: str = ""
    """The version in the comment."""

    @property
    def is_pinned(self) -> bool:
        """Return whether the ref is a commit."""
        return _COMMIT.fullmatch(self.ref) is not None

    @property
    def claim(self) -> str:
        """Return what the line says of its version: the tag, or the comment beside a commit."""
        return self.version if self.is_pinned else self.ref


class UnreadableWorkflow(ValueError):
    """A file is no YAML that can be read; the text says why."""


def is_workflow(path: str) -> bool:
    """Return whether GitHub takes the file for a workflow."""
    return _WORKFLOW.fullmatch(path) is not None


def is_action_file(path: str) -> bool:
    """Return whether the file may use actions: a workflow, or what an action is described by."""
    return is_workflow(path) or posixpath.basename(path) in _ACTION_NAMES


def list_uses(text: str) -> tuple[ActionUse, ...]:
    """Return the uses of other repositories' actions. Raises UnreadableWorkflow.

    Only values of the key count that GitHub reads there: what stands in scripts, in comments and
    in other texts is none, nor are containers (`docker://`) and the repository's own (`./`).
    """
    return _read(text)[0]


def with_refs(text: str, changes: Mapping[ActionUse, tuple[str, str]]) -> str:
    """Return the text with other refs at these uses, and other versions in their comments.

    The version stands where one stood; where none did nothing is added.
    """
    for use, (ref, version) in sorted(changes.items(), key=lambda each: -each[0].span[0]):
        if use.comment[1] and version:
            text = f"{text[: use.comment[0]]}{version}{text[use.comment[1] :]}"
        text = f"{text[: use.span[0]]}{ref}{text[use.span[1] :]}"
    return text


def find_other_change(old: str, new: str, repository: str) -> str:
    """Return what differs beside refs of this repository's actions; empty: nothing does.

    A commit stays a commit, a tag becomes one that looks like a release, and the file keeps its
    structure. Raises UnreadableWorkflow.
    """
    before, shape = _read(old)
    after, new_shape = _read(new)
    if len(before) != len(after) or shape != new_shape:
        return "its structure differs"
    if _cut_refs(old, before, repository) != _cut_refs(new, after, repository):
        return f"more than refs of `{repository}` differs"
    for one, other in zip(before, after, strict=True):
        if one.is_pinned != other.is_pinned:
            return "a commit does not stay a commit"
        if one.ref != other.ref and not (other.is_pinned or _RELEASE.fullmatch(other.ref)):
            return f"`{other.ref}` is no name of a release"
    return ""


def _cut_refs(text: str, uses: tuple[ActionUse, ...], repository: str) -> str:
    """Return the text without the refs of this repository, and the versions in their comments."""
    for use in reversed(uses):
        if use.repository.lower() == repository.lower() and use.span[1]:
            if use.comment[1]:
                text = f"{text[: use.comment[0]]}\0{text[use.comment[1] :]}"
            text = f"{text[: use.span[0]]}\0{text[use.span[1] :]}"
    return text


@dataclass
class _Level:
    """A mapping or a list that is being read."""

    of_keys: bool
    key: str | int | None = None
    """The key whose value comes next, or the place in the list."""

    @property
    def wants_key(self) -> bool:
        """Return whether a key comes next."""
        return self.of_keys and self.key is None

    def take_key(self, key: str) -> None:
        """Take a key; what is none that can be named has a name of its own."""
        self.key = key or "?"

    def pass_value(self) -> None:
        """Go on behind a value."""
        self.key = None if self.of_keys else int(self.key or 0) + 1


@dataclass
class _Walk:
    """What has been read so far; aliases are never followed, so they cost nothing."""

    text: str
    uses: list[ActionUse] = field(default_factory=list)
    shape: list[object] = field(default_factory=list)
    open: list[_Level] = field(default_factory=list)
    anchors: dict[str, str] = field(default_factory=dict)
    """What stands at anchors outside of uses, to which a use may refer."""

    def take(self, event: yaml.Event) -> None:
        """Take the next event of the parser."""
        value = event.value if isinstance(event, yaml.ScalarEvent) else ""
        if isinstance(event, yaml.CollectionEndEvent):
            self.open.pop()
            self._pass_value()
        elif isinstance(event, yaml.CollectionStartEvent):
            of_keys = isinstance(event, yaml.MappingStartEvent)
            self.open.append(_Level(of_keys, None if of_keys else 0))
            if len(self.open) > _DEEPEST:
                raise UnreadableWorkflow("it is nested deeper than any workflow is")
            if any(each.wants_key for each in self.open[-2:-1]):
                raise UnreadableWorkflow("it has a key that is no text")
        elif isinstance(event, yaml.NodeEvent):
            if self.open and self.open[-1].wants_key:
                self.open[-1].take_key(value)
            else:
                value = self._take_value(event, value)
                self._pass_value()
        self.shape.append((type(event).__name__, getattr(event, "anchor", None), value))

    def _is_use(self) -> bool:
        """Return whether GitHub reads there which action is used."""
        match [each.key for each in self.open]:
            case ["jobs", _, "uses"] | ["jobs", _, "steps", int(), "uses"]:
                return True
            case ["runs", "steps", int(), "uses"]:
                return True
        return False

    def _take_value(self, event: yaml.NodeEvent, value: str) -> str:
        """Take a value; return what stands for it in the shape: of a use all but its ref."""
        if not self._is_use():
            if event.anchor and isinstance(event, yaml.ScalarEvent):
                self.anchors[event.anchor] = value
            return value
        if isinstance(event, yaml.AliasEvent):
            value = self.anchors.get(event.anchor or "", "")
        found = _USE.fullmatch(value)
        if found is None:
            name = re.match(r"([\w-]+/[\w.-]+)[@/]", value)
            if name is not None:
                self.uses.append(ActionUse(name[1], "", "", _locate(event)[2]))
            return value
        use = _find_span(self.text, event, value, found)
        self.uses.append(use)
        return f"{found['repository']}{found['path']}@" if use.span[1] else value

    def _pass_value(self) -> None:
        if self.open:
            self.open[-1].pass_value()


def _find_span(text: str, event: yaml.NodeEvent, value: str, found: re.Match[str]) -> ActionUse:
    """Return the use with where its ref stands; without, where it is not written in one piece."""
    start, end, line = _locate(event)
    about = (found["repository"], found["path"], found["ref"], line)
    before = _BEFORE.match(text[start:end])
    start += before.end() if before else 0
    quote = text[start : start + 1] if text[start : start + 1] in ("'", '"') else ""
    if isinstance(event, yaml.AliasEvent) or text[start:end] != f"{quote}{value}{quote}":
        return ActionUse(found["repository"], found["path"], "", line)
    at = start + len(quote) + found.start("ref")
    span = (at, at + len(found["ref"]))
    comment = _COMMENT.match(text, end)
    said = _VERSION.search(comment[0]) if comment else None
    if comment is None or said is None:
        return ActionUse(*about, span)
    there = (comment.start() + said.start(), comment.start() + said.end())
    return ActionUse(*about, span, there, said[0])


def _locate(event: yaml.Event) -> tuple[int, int, int]:
    """Return where it begins and ends in the text, and its line, from 1."""
    assert event.start_mark is not None, "the parser marks all that it has read"
    assert event.end_mark is not None, "the parser marks all that it has read"
    return event.start_mark.index, event.end_mark.index, event.start_mark.line + 1


def _read(text: str) -> tuple[tuple[ActionUse, ...], Shape]:
    """Return the uses and what the file consists of, without the refs of the uses."""
    walk = _Walk(text)
    try:
        for event in _parse(text):
            walk.take(event)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise UnreadableWorkflow(f"it is no YAML (line {line}: {error.problem})") from error
    except yaml.YAMLError as error:
        raise UnreadableWorkflow(f"it is no YAML: {error}") from error
    return tuple(walk.uses), tuple(walk.shape)


def _parse(text: str) -> Iterator[yaml.Event]:
    if len(text) > LARGEST:
        raise UnreadableWorkflow(f"it has more than {LARGEST:,} characters")
    if text.startswith("\ufeff"):
        raise UnreadableWorkflow("it begins with a mark of its byte order")
    documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise UnreadableWorkflow("it holds several documents")
        yield event
