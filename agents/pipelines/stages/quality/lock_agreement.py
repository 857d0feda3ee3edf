"""Manifests that no longer fit their lock files, which a set-up from before cannot notice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from agents.analysis.lock_files import (
    LONGEST,
    LockPair,
    PairText,
    find_unlocked,
    is_broken,
    list_lock_pairs,
    list_removed_locks,
)
from agents.requests import Frozen
from agents.run import StageContext
from agents.text import code_span, one_line

_LONGEST_PATH, _LONGEST_NAME = 120, 60  # characters
_MOST_PAIRS = 40  # that are compared
_SENTENCES = {
    "disagree": "{manifest} and {lock} disagree about {packages} since the change: lock it anew"
    " with the tool that wrote {lock}",
    "removed": "the change removes {lock} and leaves {manifest}, so nothing says any more which"
    " versions are to be installed: put {lock} back, or say in the pull request why it goes",
    "broken": "no tool reads {lock} any more as the change leaves it: lock {manifest} anew with the"
    " tool that wrote {lock}",
    "unread": "whether {lock} still fits {manifest} could not be told, because they are too long or"
    " too many to compare: install from {lock} with its own tool to find out",
}


class UnlockedManifest(Frozen):
    """A manifest of which a change may have left the lock file behind."""

    manifest: str
    lock: str
    packages: tuple[str, ...] = ()
    """The first few of those over which they disagree."""
    state: Literal["disagree", "removed", "broken", "unread"] = "disagree"

    def describe(self) -> str:
        """Return the manifest as a sentence's part in Markdown that can be published."""
        return _SENTENCES[self.state].format(
            manifest=code_span(one_line(self.manifest, _LONGEST_PATH)),
            lock=code_span(one_line(self.lock, _LONGEST_PATH)),
            packages=", ".join(code_span(one_line(each, _LONGEST_NAME)) for each in self.packages),
        )


async def find_unlocked_manifests(
    run: StageContext, changed: Sequence[str], head: str
) -> tuple[UnlockedManifest, ...]:
    """Return the manifests that may not fit their locks on `head`, where these paths changed."""
    paths = await run.ports.source.files(head) if changed else ()
    found = [_name(pair, "removed") for pair in list_removed_locks(changed, paths)]
    pairs = list_lock_pairs(changed, paths)
    for pair in pairs[:_MOST_PAIRS]:
        before, after = [await _read(run, commit, pair) for commit in (run.base, head)]
        if not after or max(len(after.manifest), len(after.lock)) > LONGEST:
            found.append(_name(pair, "unread"))
        elif await asyncio.to_thread(is_broken, pair.lock, after.lock):
            found.append(_name(pair, "broken"))
        elif packages := await asyncio.to_thread(find_unlocked, pair, before, after):
            found.append(_name(pair, "disagree", packages))
    return (*found, *[_name(pair, "unread") for pair in pairs[_MOST_PAIRS : _MOST_PAIRS + 1]])


def _name(
    pair: LockPair,
    state: Literal["disagree", "removed", "broken", "unread"],
    packages: Sequence[str] = (),
) -> UnlockedManifest:
    return UnlockedManifest(
        manifest=pair.manifest, lock=pair.lock, packages=tuple(packages), state=state
    )


async def _read(run: StageContext, commit: str, pair: LockPair) -> PairText | None:
    texts = [await run.ports.source.show(commit, path) for path in (pair.manifest, pair.lock)]
    manifest, lock = texts
    if manifest is None or lock is None:
        return None
    return PairText(manifest.decode(errors="replace"), lock.decode(errors="replace"))
