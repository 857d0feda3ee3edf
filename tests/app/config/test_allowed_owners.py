"""The allowlist: who is not on it is dropped at the door, however they call themselves."""

from __future__ import annotations

import pytest

from app.config.allowed_owners import AllowedOwners
from app.webhooks.receiver import Delivery, OwnIdentity, WebhookReceiver

OCTO, EVE = ("octo-org", 3), ("eve", 66)


def repository_of(login, ident):
    return {"repository": {"owner": {"login": login, "id": ident}}}


def installation_of(login, ident):
    return {"installation": {"id": 1, "account": {"login": login, "id": ident}}}


def test_an_empty_list_means_everybody():
    assert AllowedOwners().allow(repository_of(*EVE))
    assert AllowedOwners().allow({})


@pytest.mark.parametrize("listed", ["octo-org", "OCTO-Org", "3"])
def test_logins_in_any_case_and_ids(listed):
    owners = AllowedOwners([listed, "other"])
    assert owners.allow(repository_of(*OCTO))
    assert owners.allow(repository_of("Octo-ORG", 3))
    assert owners.allow(installation_of(*OCTO))
    assert owners.allow({"account": {"login": "octo-org", "id": 3}, "installation": {"id": 1}})
    assert not owners.allow(repository_of(*EVE))
    assert not owners.allow(installation_of(*EVE))


def test_digits_are_an_id_and_no_login():
    assert not AllowedOwners(["66"]).allow(repository_of("66", 3))


def test_attack_a_letter_that_is_plain_only_when_small_is_another_one():
    owners = AllowedOwners(["kelvin"])
    assert not owners.allow(repository_of("\N{KELVIN SIGN}elvin", 66))
    assert owners.unknown("\N{KELVIN SIGN}elvin") == ""
    assert owners.allow(repository_of("Kelvin", 3))


def test_a_login_that_was_given_up_lets_nobody_else_in():
    owners = AllowedOwners(["octo-org"])
    owners.load_accounts({"octo-org": 3, "never-listed": 66})
    assert owners.allow(repository_of("called-otherwise-by-now", 3))
    assert not owners.allow(repository_of("octo-org", 66))
    assert not owners.allow(repository_of("never-listed", 66))


def test_the_first_account_counts():
    owners = AllowedOwners(["octo-org"])
    assert owners.unknown("Octo-Org") == "octo-org"
    owners.load_accounts({"octo-org": 3})
    owners.load_accounts({"octo-org": 66})
    assert owners.unknown("octo-org") == ""
    assert not owners.allow(repository_of("octo-org", 66))


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"repository": {}},
        {"repository": {"owner": None}},
        {"repository": {"owner": "octo-org"}},
        {"repository": {"owner": {"login": "octo-org"}}},
        {"repository": {"owner": {"login": "octo-org", "id": True}}},
        {"repository": {"owner": {"login": ["octo-org"], "id": 3}}},
        {"repository": [], "installation": {"account": []}},
        {"organization": {"login": "octo-org", "id": 3}},
        {"sender": {"login": "octo-org", "id": 3}},
        repository_of(*OCTO) | installation_of(*EVE),
        repository_of(*EVE) | installation_of(*OCTO),
        repository_of(*OCTO) | {"account": {"login": "eve", "id": 66}},
        repository_of("octo-org\n", 66),
        repository_of("octo-org/../eve", 66),
        repository_of("\uff4fcto-org", 66),
    ],
)
def test_attack_nothing_else_in_a_payload_lets_it_in(payload):
    owners = AllowedOwners(["octo-org"])
    assert not owners.allow(payload)


def test_the_door_tells_them_apart_and_looks_at_the_signature_first(sender):
    receiver = WebhookReceiver([sender.secret], OwnIdentity(), owners=AllowedOwners(["octo"]))
    assert isinstance(receiver.admit(*sender.make()), Delivery)
    payload = sender.payload()
    payload["repository"]["owner"] = {"login": "eve", "id": 66}
    answer = receiver.admit(*sender.make(payload))
    assert (answer.status, answer.outcome) == (204, "foreign")
    headers, body = sender.make(payload, secret="another")
    with pytest.raises(Exception, match="signature"):
        receiver.admit(headers, body)
