"""The manual of `fettle rotate-secret` and `fettle rotate-key`."""

from __future__ import annotations

from collections.abc import Sequence

HOOK = """
Replace the webhook secret without losing a delivery.

A new secret is made and written beside the old one, so that both are accepted; then GitHub is told
to sign with the new one. For as long as GitHub may bring an older delivery again (three days; seven
on an Enterprise Server) the old one is accepted, too. Then the server drops it, or --finish does so
now. Cut off at any point, the same command goes on. The secret is printed nowhere.

A server that runs with the files of `fettle setup` takes it up by itself, at once. Where the secret
comes from a variable, this command cannot write there: it says what to do, and with --tell it tells
GitHub the first of the secrets that the variable holds.
"""

KEY = """
Replace the App's private key.

Make a new key on the App's page first, and give its file here; - reads standard input. GitHub is
asked whether it accepts the new key; only then does it take the old one's place in the data folder.
A running server takes it up by itself within seconds. Both keys hold at GitHub until you delete the
old one there; the command says which one that is.
"""

_ENVIRONMENT = (("FETTLE_DATA_DIR", "the server's data folder"),)

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "rotate-secret": {
        "Examples": (
            ("fettle rotate-secret", "replace it; the old one goes by itself"),
            ("fettle rotate-secret --finish", "accept the new one alone, now"),
            ("fettle rotate-secret --tell", "secrets in a variable: GitHub takes the first"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "done"),
            ("1", "GitHub did not do its part; the same command goes on"),
            ("2", "a person has to act first; nothing is lost"),
        ),
    },
    "rotate-key": {
        "Examples": (
            ("fettle rotate-key fettle.2026-02-01.private-key.pem", ""),
            ("ssh laptop cat new.pem | fettle rotate-key -", "without a copy on this disk"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "the new key is in use"),
            ("1", "GitHub could not be reached; nothing has changed"),
            ("2", "it is no key, or not this App's; the old one stays"),
        ),
    },
}
