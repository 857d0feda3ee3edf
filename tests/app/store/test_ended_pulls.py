"""The table of how pull requests of Fettle ended, on SQLite and on PostgreSQL."""

from __future__ import annotations

from agents.requests import Repository
from app.store.ended_pulls import LONGEST, MOST_AT_ONCE, MOST_LOOKS, EndedPulls
from handlers.notifications import PullClosed, Suspicion

LIB = Repository(id=2**40, owner="octo", name="lib", default_branch="main")
OTHER = Repository(id=2**40 + 1, owner="octo", name="other", default_branch="main")


def close(number, base="main", *, merged=True):
    return PullClosed(
        installation_id=1,
        repository=LIB,
        number=number,
        merged=merged,
        base=base,
        commit=f"{number:040x}",
    )


def suspect(head, branch="main"):
    return Suspicion(installation_id=1, repository=LIB, branch=branch, head=head)


def name_pulls(*names):
    return Suspicion(installation_id=1, repository=LIB, named=names)


async def watch(database, *numbers, at=1000.0):
    """Watch these merges, one a second."""
    for second, number in enumerate(numbers):
        await EndedPulls(database, clock=lambda now=at + second: now).note(close(number))
    return EndedPulls(database, clock=lambda: at + len(numbers))


async def numbers_of(merges, suspicion, ident):
    return [each.number for each in await merges.list_suspects(suspicion, ident)]


async def test_each_merge_is_looked_at_once_for_each_failure_and_not_without_end(database):
    merges = await watch(database, 7, 8)
    assert await numbers_of(merges, suspect("a" * 40), "n1") == [8, 7]
    assert await numbers_of(merges, suspect("a" * 40), "n1") == [8, 7], "as after a kill"
    assert await numbers_of(merges, suspect("a" * 40), "n2") == [], "another suite of this commit"
    for number in range(2, MOST_LOOKS + 1):
        assert await numbers_of(merges, suspect(f"{number:040x}"), f"m{number}") == [8, 7]
    assert await numbers_of(merges, suspect("f" * 40), "last") == []


async def test_only_the_newest_are_looked_at_together(database):
    merges = await watch(database, *range(1, 10))
    assert await numbers_of(merges, suspect("a" * 40), "n1") == [9, 8, 7, 6, 5][:MOST_AT_ONCE]


async def test_people_name_them_by_number_or_commit(database):
    merges = await watch(database, 7, 8)
    assert await numbers_of(merges, name_pulls("8"), "n1") == [8]
    assert await numbers_of(merges, name_pulls(f"{7:040x}"), "n2") == [7]
    assert await numbers_of(merges, name_pulls("9", "abc"), "n3") == []


async def test_other_branches_repositories_and_old_merges_are_left_alone(database):
    merges = await watch(database, 7)
    assert await numbers_of(merges, suspect("a" * 40, branch="release"), "n1") == []
    assert await merges.has_any(LIB.id)
    assert not await merges.has_any(OTHER.id)
    later = EndedPulls(database, clock=lambda: 1001.0 + LONGEST)
    assert not await later.has_any(LIB.id)
    assert await numbers_of(later, suspect("a" * 40), "n2") == []


async def test_told_twice_a_merge_is_watched_from_the_first_time(database):
    await watch(database, 7)
    merges = await watch(database, 7, at=2000.0)
    [found] = await merges.list_suspects(suspect("a" * 40), "n1")
    assert found.ended_at == 1000.0


async def test_what_was_closed_is_kept_and_not_suspected_until_it_is_merged_after_all(database):
    ends = EndedPulls(database, clock=lambda: 1000.0)
    await ends.note(close(7, merged=False))
    assert await ends.read_ends() == {(LIB.id, 7): False}
    assert not await ends.has_any(LIB.id)
    assert await numbers_of(ends, name_pulls("7"), "n1") == []

    await ends.note(close(7))
    await ends.note(close(7, merged=False))
    assert await ends.read_ends() == {(LIB.id, 7): True}
    assert await numbers_of(ends, name_pulls("7"), "n2") == [7]
