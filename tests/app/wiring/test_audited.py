"""What the audit log is told of tokens: each one, but of the frequent search once a day."""

from __future__ import annotations

from app.github.transport import Profile, Scope
from app.store.audit import list_newest
from app.wiring.audited import A_DAY, TokenRecord


async def test_a_search_of_an_installation_is_noted_once_a_day(database):
    now = [0.0]
    record = TokenRecord(database, clock=lambda: now[0])
    search, other = (Scope.of_all(number, Profile.ISSUES) for number in (1, 2))
    for scope in (search, search, other, search):
        await record.add(scope)
    now[0] = A_DAY + 1
    await record.add(search)
    acts = [entry.act for entry in await database.read(lambda c: list_newest(c, 9))]
    assert [act["installation_id"] for act in acts] == [1, 2, 1]
    assert {act["details"]["noted"] for act in acts} == {"once a day"}


async def test_every_other_token_is_noted(database):
    record = TokenRecord(database)
    for _ in range(2):
        await record.add(Scope.for_one(1, 7, Profile.READ))
        await record.add(Scope.of_all(1, Profile.PULLS))
    acts = [entry.act for entry in await database.read(lambda c: list_newest(c, 9))]
    assert len(acts) == 4
    assert not any("noted" in act["details"] for act in acts)
