"""The manual of `fettle doctor`."""

from __future__ import annotations

from collections.abc import Sequence

DOCTOR = """
Check whether Fettle can do its work: on this machine, with this App, with these settings.

Each check tries the real thing, and says what failed, why, and what to do about it: the settings,
the App's key and the clock against GitHub, its permissions and events against app.yml, what each
installation still has to accept, where webhooks go and how the last ones fared, the sandbox, git
and other programs, disk, database, models. It works with half a configuration, too: what cannot be
checked says what it waits for.

Nothing is changed anywhere, and no secret is shown. Each model is asked for one token, after the
price was named and you said yes.
"""

DOCTOR_SANDBOX = """
Try to break out of the sandbox, as an agent would, and show what held.

This is what `fettle serve` and `fettle resolve` do before anything else: they refuse to start
unless every attack fails. `auto` takes bubblewrap, else containers of podman or docker. The others
hold less and are never taken by themselves; their notes say what they do not hold.
"""

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "doctor": {
        "Examples": (
            ("fettle doctor", "all of it"),
            ("fettle doctor --yes --json | jq '.findings[] | select(.level == \"failed\")'", ""),
            ("fettle doctor sandbox", "each attack on the sandbox, and whether it held"),
        ),
        "The JSON object": (
            ("healthy", "whether nothing failed"),
            ("findings", "about, level (ok, warning, failed, skipped), said, remedy"),
        ),
        "Environment": (("", "what `fettle serve --help` lists; the same as for the server"),),
        "Exit codes": (
            ("0", "nothing failed; there may be warnings"),
            ("2", "something failed; each remedy is shown"),
        ),
    },
    "sandbox": {
        "Examples": (
            ("fettle doctor sandbox", "the one that the settings ask for"),
            ("FETTLE_SANDBOX=container fettle doctor sandbox", "another one"),
            ("fettle doctor sandbox --all --json", "every backend, for a script"),
        ),
        "Environment": (
            ("FETTLE_SANDBOX", "auto, bubblewrap, container or none"),
            ("FETTLE_SANDBOX_IMAGE", "image of containers"),
            ("FETTLE_SANDBOX_UID", "user of commands when Fettle runs as root"),
        ),
        "Exit codes": (
            ("0", "agents can run"),
            ("2", "refused: cause and remedy are shown"),
        ),
    },
}
