"""Manifests that no longer fit their lock files, which a set-up from before cannot notice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.analysis.lock_files import LockPair, PairText, find_unlocked, list_lock_pairs
from agents.requests import Frozen
from agents.run import StageContext
from agents.text import code_span, one_line

_LONGEST_PATH, _LONGEST_NAME = 120, 60  # characters
_DISAGREE = (
    "{manifest} and {lock} disagree about {packages} since the change, and what the checks ran with"
    " was installed before it: lock it anew with the tool that wrote {lock}"
)


class UnlockedManifest(Frozen):
    """A manifest that asks for something else than its lock file holds, since the change."""

    manifest: str
    lock: str
    packages: tuple[str, ...]
    """The first few of those over which they disagree."""

    def describe(self) -> str:
        """Return it as a sentence's part in Markdown that can be published."""
        return _DISAGREE.format(
            manifest=code_span(one_line(self.manifest, _LONGEST_PATH)),
            lock=code_span(one_line(self.lock, _LONGEST_PATH)),
            packages=", ".join(code_span(one_line(each, _LONGEST_NAME)) for each in self.packages),
        )


async def find_unlocked_manifests(
    run: StageContext, changed: Sequence[str]
) -> tuple[UnlockedManifest, ...]:
    """Return the manifests that disagree with their lock files since these paths were changed."""
    found = []
    for pair in list_lock_pairs(changed, await run.ports.source.files(run.head) if changed else ()):
        before, after = [await _read(run, commit, pair) for commit in (run.base, run.head)]
        packages = await asyncio.to_thread(find_unlocked, pair, before, after) if after else []
        if packages:
            found.append(
                UnlockedManifest(manifest=pair.manifest, lock=pair.lock, packages=tuple(packages))
            )
    return tuple(found)


async def _read(run: StageContext, commit: str, pair: LockPair) -> PairText | None:
    texts = [await run.ports.source.show(commit, path) for path in (pair.manifest, pair.lock)]
    manifest, lock = texts
    if manifest is None or lock is None:
        return None
    return PairText(manifest.decode(errors="replace"), lock.decode(errors="replace"))
