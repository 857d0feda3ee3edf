"""The operator's allowlist of accounts that the App works for, kept by account id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class AllowedOwners:
    """The accounts of FETTLE_OWNERS: logins in any case, or ids; empty means everybody.

    A login can be given up and taken by somebody else. So once the account of a login is known,
    that account alone is meant, whatever its present login.
    """

    def __init__(self, listed: Sequence[str] = ()) -> None:
        self._ids = frozenset(int(each) for each in listed if each.isdecimal())
        self._logins = frozenset(each.lower() for each in listed if not each.isdecimal())
        self._known: dict[str, int] = {}

    @property
    def everybody(self) -> bool:
        """Tell whether the list is empty."""
        return not self._ids and not self._logins

    def allows(self, login: str, ident: int) -> bool:
        """Tell whether Fettle works for this account."""
        if self.everybody or ident in self._ids or ident in self._known.values():
            return True
        login = _plain(login)
        return login in self._logins and self._known.get(login, ident) == ident

    def unknown(self, login: str) -> str:
        """Return the login as listed, if its account is not known yet; otherwise an empty text."""
        login = _plain(login)
        return login if login in self._logins and login not in self._known else ""

    def load_accounts(self, known: Mapping[str, int]) -> None:
        """Load the accounts of listed logins; logins that are no longer listed are dropped."""
        for login, ident in known.items():
            if login in self._logins:
                self._known.setdefault(login, ident)

    def allow(self, payload: Mapping[str, Any]) -> bool:
        """Tell whether all accounts in a delivery's payload are allowed."""
        if self.everybody:
            return True
        named = list(_accounts(payload))
        return bool(named) and all(_well_formed(each) and self.allows(*each) for each in named)


def _plain(login: str) -> str:
    """Return the login in small letters; empty where it has any beside ASCII's."""
    return login.lower() if login.isascii() else ""


def _accounts(payload: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield login and id of whoever owns what the delivery is about."""
    for outer, inner in (("repository", "owner"), ("installation", "account")):
        thing = payload.get(outer)
        if isinstance(thing, dict) and inner in thing:
            yield _read_identity(thing[inner])
    if "account" in payload:  # of `installation_target`
        yield _read_identity(payload["account"])


def _read_identity(account: Any) -> tuple[Any, Any]:
    return (account.get("login"), account.get("id")) if isinstance(account, dict) else (None, None)


def _well_formed(account: tuple[Any, Any]) -> bool:
    return isinstance(account[0], str) and type(account[1]) is int
