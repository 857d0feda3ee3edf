"""Verify by code what a level of the ladder changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agents.pipelines.remediate.ladder.climb_context import ClimbContext
from agents.pipelines.remediate.ladder.ecosystem import HasOwnProof
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.pipelines.remediate.ladder.values import Delta, Move

LISTED = 12
_WITHIN = " No requirement of the repository changed."
_WORST: tuple[Delta, ...] = ("patch", "minor", "other", "major")


@dataclass(frozen=True)
class Checked:
    """What moved, and what is wrong with it."""

    moves: tuple[Move, ...]
    problems: tuple[str, ...]
    evidence: tuple[str, ...]


def check(
    context: ClimbContext, after: Locked, changed: Collection[str], named: Collection[str]
) -> Checked:
    """Compare lock file and files with what they were; `named` are the packages meant to move."""
    moves = list_moves(context.ecosystem.scheme, context.before, after, {context.name, *named})
    moves = tuple(sorted(moves, key=lambda move: (move.name != context.name, move.forced)))
    problems = [
        *_files(context, changed),
        *_vulnerable(context, after),
        *_too_far(context, moves),
        *_churn(context, after, moves),
        *origins(context.before, after),
        *integrity(context.before, after),
    ]
    return Checked(moves, tuple(problems), _evidence(context, after, changed, moves))


def list_moves(
    scheme: Scheme, before: Locked, after: Locked, named: Collection[str]
) -> tuple[Move, ...]:
    """Return every package whose versions differ."""
    found = []
    for name in sorted(before.by_name.keys() | after.by_name.keys()):
        old, new = (_versions(scheme, locked, name) for locked in (before, after))
        if old != new:
            far = {"delta": _delta(scheme, old, new), "breaking": _breaks(scheme, old, new)}
            forced = name not in named
            found.append(
                Move.model_validate({"name": name, "old": old, "new": new, **far, "forced": forced})
            )
    return tuple(found)


def origins(before: Locked, after: Locked) -> Iterator[str]:
    """Yield where an entry comes from another place than its package did."""
    usual = {entry.source for entry in before.entries if not entry.own}
    hosts = {host for entry in before.entries for host in entry.hosts}
    for entry in _entries(after):
        known = {each.source for each in before.by_name.get(entry.name, ())} or usual
        if known and entry.source not in known:
            yield (
                f"{entry.name} {entry.version} would come from {_place(entry.source)} instead of "
                f"{_place(min(known))}."
            )
        elif hosts and not hosts.issuperset(entry.hosts):
            strange = min(set(entry.hosts) - hosts)
            yield f"Files of {entry.name} {entry.version} would come from {_place(strange)}."


def integrity(before: Locked, after: Locked) -> Iterator[str]:
    """Yield where hashes are missing, or are others than they were."""
    hashed = {entry.source for entry in _entries(before) if entry.hashes}
    known = {(entry.name, entry.version, entry.source): entry for entry in _entries(before)}
    for entry in _entries(after):
        was = known.get((entry.name, entry.version, entry.source))
        if was is not None and not set(was.hashes) <= set(entry.hashes):
            yield f"The hashes of {entry.name} {entry.version}, which did not move, changed."
        elif was is None and entry.source in hashed and not entry.hashes:
            yield f"{entry.name} {entry.version} has no hash in the lock file."


def _files(context: ClimbContext, changed: Collection[str]) -> Iterator[str]:
    strange = sorted(set(changed) - context.ecosystem.files)
    if strange:
        yield f"Files other than manifests and lock files changed: {_join_names(strange)}."
    if not changed:
        yield "No file changed."


def _vulnerable(context: ClimbContext, after: Locked) -> Iterator[str]:
    left = context.list_vulnerable(after)
    if left:
        yield f"{context.name} {_join_names(left)} is still in a vulnerable range."


def _too_far(context: ClimbContext, moves: Collection[Move]) -> Iterator[str]:
    scheme = context.ecosystem.scheme
    for move in moves:
        way = f"{move.name} from {_join_names(move.old)} to {_join_names(move.new)}"
        back = context.terms.back and move.name == context.name
        if not back and any(
            _goes_backwards(scheme, version, move) for version in _list_added_versions(move)
        ):
            yield f"It would move {way}: back to an older version."
        elif move.delta in ("major", "other") and not context.terms.majors:
            yield f"It would move {way}: another major version."


def _churn(context: ClimbContext, after: Locked, moves: Collection[Move]) -> Iterator[str]:
    meant = {context.name, *(move.name for move in moves if not move.forced)}
    both = (context.before, after)
    forced = [move.name for move in moves if move.forced and not _is_part(move.name, meant, both)]
    if len(forced) > context.terms.churn:
        yield (
            f"{len(forced)} other packages would move, come or go, more than "
            f"{context.terms.churn}: {_join_names(forced)}."
        )


def _is_part(name: str, meant: Collection[str], both: Collection[Locked]) -> bool:
    """Return whether nothing but what was meant to move needs a package, before and after.

    So it is with a package's builds for each platform: they come and go with it.
    """
    if any(locked.find_requirements(name) for locked in both):
        return False
    parents_of_each = [
        [locked.by_key.get(key) for key in locked.needed_by_of(entry)]
        for locked in both
        for entry in locked.by_name.get(name, ())
    ]
    return all(
        parents and all(each and not each.own and each.name in meant for each in parents)
        for parents in parents_of_each
    )


def _evidence(
    context: ClimbContext, after: Locked, changed: Collection[str], moves: Collection[Move]
) -> tuple[str, ...]:
    copies = dict.fromkeys(copy.version for copy in after.copies(context.name))
    versions = _join_names([*copies]) or "gone"
    others, locks = [move.name for move in moves if move.forced], context.ecosystem.locks
    within = _WITHIN if locks and after.own == context.before.own else ""
    alerts = f"{len(context.ranges.ranges)} alert{'s' * (len(context.ranges.ranges) != 1)}"
    held = "manifests and lock files" if context.ecosystem.locks else "manifests"
    if isinstance(context.ecosystem, HasOwnProof):
        held = context.ecosystem.held
    return (
        f"Every copy of {context.name} ({versions}) is outside of the ranges of {alerts}.",
        f"Changed files: {_join_names(sorted(changed))}; {held} alone.{within}",
        *([f"Moved without being named: {_join_names(others) or 'nothing'}."] if locks else []),
        *filter(None, (_tell_origins(after),)),
    )


def _tell_origins(after: Locked) -> str:
    """Return what was held against what it was before, as far as the files say it at all."""
    entries = list(_entries(after))
    indexes = any(entry.source or entry.hosts for entry in entries)
    hashes = any(entry.hashes for entry in entries)
    said = ("Indexes are the same as before." * indexes, "No hash was lost or changed." * hashes)
    return " ".join(filter(None, said))


def _delta(scheme: Scheme, old: tuple[str, ...], new: tuple[str, ...]) -> Delta | None:
    """Return the farthest way that one of the new versions came, from the nearest old one.

    Where one of several went without one near it staying or coming, that is a way as far.
    """
    gone, come = [v for v in old if v not in new], [v for v in new if v not in old]
    if not gone or not come:
        return None
    nearest = [min((scheme.delta(g, c) for g in gone), key=_WORST.index) for c in come]
    nearest += [min((scheme.delta(g, n) for n in new), key=_WORST.index) for g in gone]
    return max(nearest, key=_WORST.index)


def _breaks(scheme: Scheme, old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Return whether some new version may break what works with each of the old ones."""
    gone, come = [v for v in old if v not in new], [v for v in new if v not in old]
    return bool(gone) and any(all(scheme.breaks(g, c) for g in gone) for c in come)


def _goes_backwards(scheme: Scheme, version: str, move: Move) -> bool:
    gone = [old for old in move.old if old not in move.new]
    return bool(gone) and all(scheme.newer(old, version) for old in gone)


def _list_added_versions(move: Move) -> list[str]:
    return [version for version in move.new if version not in move.old]


def _entries(locked: Locked) -> Iterator[Entry]:
    return (entry for entry in locked.entries if not entry.own)


def _versions(scheme: Scheme, locked: Locked, name: str) -> tuple[str, ...]:
    versions = {entry.version for entry in locked.by_name.get(name, ())}
    known = scheme.order(versions)
    return (*known, *sorted(versions.difference(known)))


def _join_names(names: Collection[str]) -> str:
    shown = [name for name, _ in zip(names, range(LISTED), strict=False)]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(shown)}{more}"


def _place(source: str) -> str:
    """Return where something comes from, for people, without what may be a password."""
    return (source.rpartition("@")[2] if "@" in source else source)[:120] or "no named index"
