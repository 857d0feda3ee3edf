"""The manual of `fettle setup`."""

from __future__ import annotations

from collections.abc import Sequence

SETUP = """
Register your GitHub App and keep its secrets: from nothing to an App that can be installed.

It prints an address on this machine. Open it in a browser: it leads to GitHub, which asks whether
to make an App with just the permissions and events of app.yml, and leads back. Then the App's id,
its private key and its webhook secret are in files of the data folder, which nobody but their owner
can read. They are printed nowhere. The link to install the App comes last, on standard output.

On a server without a browser, forward the port from where you sit; the command to do so is printed,
too. The page works once, for fifteen minutes, and answers this machine alone.

With --import, an App that is there already is taken: its id, its key's file, and its webhook
secret, which is asked for without being shown. GitHub is asked first whether it knows the App.

`fettle serve` and all other commands find the files by themselves. A variable, where it is set,
wins over its file; the App's id, key and webhook secret are taken together from one place or the
other. Run it as the user that runs Fettle, or as root: then the files get the data folder's owner.
"""

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "setup": {
        "Examples": (
            ("fettle setup --org octo --webhook-url https://fettle.example.com/webhook", ""),
            (
                "ssh -t -L 8123:127.0.0.1:8123 server fettle setup --port 8123",
                "browser here, App there",
            ),
            ("fettle setup --github-url https://github.example.com", "an Enterprise Server"),
            ("fettle setup --import --app-id 123456 --key-file app.pem", "an App that is there"),
        ),
        "Environment": (
            ("FETTLE_DATA_DIR", "the data folder; its folder `secrets` gets the files"),
            ("FETTLE_GITHUB_URL", "your GitHub, instead of --github-url"),
            ("FETTLE_WEBHOOK_URL", "where GitHub reaches the server, instead of --webhook-url"),
        ),
        "Exit codes": (
            ("0", "the App is there, its secrets are kept"),
            ("1", "failed: nobody came in time, or GitHub refused; the message says what is left"),
            ("2", "a person has to act: an App is set up already, a value is missing or wrong"),
            ("130", "stopped by Ctrl-C; nothing was changed"),
        ),
    },
}
