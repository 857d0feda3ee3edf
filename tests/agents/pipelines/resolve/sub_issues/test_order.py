"""The parts of an issue come in an order that works, or it is said why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipelines.resolve.sub_issues.order import BlockedPart, in_order
from agents.ports.issues import SubIssue


def part(number, *blockers, state="open", elsewhere=""):
    return SubIssue(
        number=number,
        title=f"Part {number}",
        body="",
        state=state,
        author="ada",
        author_may_write=True,
        blocked_by=blockers,
        elsewhere=elsewhere,
    )


def numbers(parts):
    return [each.number for each in parts]


def test_without_blockers_it_is_githubs_order():
    assert numbers(in_order([part(9), part(4), part(7)]).work) == [9, 4, 7]


def test_what_blocks_comes_first_and_moves_nothing_else():
    order = in_order([part(9, 7), part(4), part(7), part(8)])

    assert numbers(order.work) == [4, 7, 9, 8]


def test_closed_parts_are_done_and_block_nothing():
    order = in_order([part(9, 4), part(4, state="closed")])

    assert numbers(order.work) == [9]
    assert numbers(order.done) == [4]


def test_parts_of_other_repositories_are_named_and_not_worked_on():
    other = part(4, elsewhere="ada/vault")
    order = in_order([part(9), other])

    assert numbers(order.work) == [9]
    assert [each.reference for each in order.elsewhere] == ["ada/vault#4"]


def test_the_number_of_a_part_elsewhere_opens_no_way_here():
    order = in_order([part(9, 4), part(4, elsewhere="ada/vault", state="closed")])

    assert order.work == ()
    assert order.waiting == (BlockedPart(number=9, on=(4,)),)


def test_what_waits_for_an_issue_that_is_no_part_waits_and_so_does_what_follows():
    order = in_order([part(9, 50), part(4, 9, 7), part(7)])

    assert numbers(order.work) == [7]
    assert order.waiting == (BlockedPart(number=9, on=(50,)), BlockedPart(number=4, on=(9,)))


@pytest.mark.parametrize(
    ("parts", "cycles"),
    [
        ([part(1, 1)], ((1,),)),
        ([part(1, 2), part(2, 1)], ((1, 2),)),
        ([part(3, 1), part(1, 2), part(2, 3)], ((3, 1, 2),)),
        ([part(1, 2), part(2, 1), part(5, 6), part(6, 5)], ((1, 2), (5, 6))),
        ([part(1, 2, 3), part(2, 1), part(3, 1)], ((1, 2),)),
    ],
)
def test_cycles_are_named(parts, cycles):
    order = in_order(parts)

    assert order.cycles == cycles
    assert order.work == ()


def test_what_stands_behind_a_cycle_waits_and_the_rest_is_worked_on():
    order = in_order([part(1, 2), part(2, 1), part(3, 2), part(4)])

    assert numbers(order.work) == [4]
    assert order.cycles == ((1, 2),)
    assert order.waiting == (BlockedPart(number=3, on=(2,)),)


def test_a_hundred_parts_that_all_wait_for_each_other_take_no_time():
    every = range(1, 101)
    order = in_order([part(n, *(m for m in every if m != n)) for n in every])

    assert len(order.cycles) == 50
    assert order.work == ()


@given(
    st.lists(
        st.builds(
            lambda n, blockers, state, elsewhere: part(
                n, *blockers, state=state, elsewhere=elsewhere
            ),
            st.integers(1, 12),
            st.lists(st.integers(1, 14), max_size=3, unique=True),
            st.sampled_from(["open", "open", "closed"]),
            st.sampled_from(["", "", "", "ada/vault"]),
        ),
        unique_by=lambda each: each.number,
        max_size=12,
    )
)
def test_every_part_has_one_place_and_comes_after_what_blocks_it(parts):
    order = in_order(parts)

    circling = [number for cycle in order.cycles for number in cycle]
    placed = [
        *numbers((*order.work, *order.done, *order.elsewhere)),
        *(each.number for each in order.waiting),
        *circling,
    ]
    assert sorted(placed) == sorted(numbers(parts))
    over = set(numbers(order.done))
    for each in order.work:
        assert set(each.blocked_by) <= over
        over.add(each.number)
    assert all(each.on for each in order.waiting)
    blockers = {each.number: each.blocked_by for each in parts}
    for cycle in order.cycles:
        for number, blocker in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert blocker in blockers[number]
