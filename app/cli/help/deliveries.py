"""The manual of `fettle receive` and `fettle redeliver`."""

from __future__ import annotations

from collections.abc import Sequence

RECEIVE = """
Feed a payload to the front door, as if GitHub had delivered it, and show what comes of it.

EVENT is what GitHub writes into X-GitHub-Event, like issues; FILE holds the payload, which the
App's page shows for each delivery, and - is standard input. The door and the front desk decide as
they do for GitHub, but for the signature, which is made here: whoever may write to the database
needs no secret. With --dry-run nothing is written.

What is let in is put into the server's inbox, also while the server runs. Whether the asker may,
and whether it is still true, is asked of GitHub when the run begins, as ever.
"""

REDELIVER = """
Have GitHub deliver something once more, and show what the server answers.

GUID is the X-GitHub-Delivery that GitHub and the server's log show. GitHub has it for three days.
What arrived before is not done twice. A running server asks by itself for whatever did not arrive,
at its start and every ten minutes.
"""

_ENVIRONMENT = (
    ("FETTLE_DATA_DIR", "the server's data folder"),
    ("FETTLE_DATABASE_URL", "the server's database, when it is not in that folder"),
)

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "receive": {
        "Examples": (
            ("fettle receive issues labeled.json --dry-run", "what would come of it"),
            ("fettle receive issues labeled.json", "have it done"),
            ("fettle receive issues - --json <labeled.json", "use it in a script"),
        ),
        "Environment": _ENVIRONMENT,
        "The JSON object": (
            ("door", "{status, text}: what GitHub would have been answered"),
            ("asked", "list of the requests that it makes, whole; empty when it asks for nothing"),
            ("ignored", "why it asks for nothing, or null"),
            ("delivery", "its id in the inbox, or null"),
        ),
        "Exit codes": (
            ("0", "shown, and unless --dry-run or nothing is asked for, in the inbox"),
            ("1", "refused at the door, or not of the shape that the event promises"),
            ("2", "a setting or a mistake in the command"),
        ),
    },
    "redeliver": {
        "Examples": (
            ("fettle redeliver 72d3162e-cc78-11e3-81ab-4c9367dc0958", "and see the answer"),
        ),
        "Environment": (
            ("FETTLE_APP_ID, FETTLE_PRIVATE_KEY_FILE and others", "what `fettle serve` has"),
        ),
        "Exit codes": (
            ("0", "delivered, or asked for and still under way"),
            ("1", "GitHub has no such delivery any more, or it failed again"),
            ("2", "a setting or a mistake in the command"),
        ),
    },
}
