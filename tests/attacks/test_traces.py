"""What stays behind: secrets and escapes in logs, and files for the next run to find."""

from __future__ import annotations

import asyncio

import pytest

from tests.attacks.conftest import make_script
from tests.attacks.naive import open_bot
from tests.flows.conftest import CHECKED
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"


TITLE = f"A sum is {ESCAPES} wrong"


@pytest.mark.attack(16)
async def test_no_log_holds_secrets_nor_drives_a_terminal(hostile, attempts):
    """Every way to fail is provoked; then words and output want to drive the terminal of who reads.

    The log of everything must hold none of our secrets, nor escapes.
    """
    calls = [[{"bash": {"command": f"printf '{ESCAPES}'; echo {ESCAPES}"}}]]
    async with hostile(FETTLE_LOG_LEVEL="debug") as place:
        provoke_faults(place)
        await place.label()
        await place.wait_for_end()
        before = [*place.github.requests]
        await place.move(CHECKED, (TITLE, ESCAPES), make_script(inside={"# Triage": calls}))
        place.github.requests.extend(before)  # for whoever looks for secrets in all of them
        await place.label()
        await place.wait_for_end()
        await place.server.stop()
        note_secrets(place, attempts)
        log = place.server.log.read_text()
        for name, mark in {"titles": "\x1b]", "clearing": "\x1b[2J", "C1": "\x9b"}.items():
            attempts.note(f"escape: {name}", blocked=mark not in log, bites=mark in TITLE)


def provoke_faults(place):
    faults = place.github.faults
    faults.status("GET", r"/collaborators/", 500)
    faults.status("POST", r"/access_tokens$", 502)
    faults.status("POST", r"/pulls$", 500)
    faults.status("POST", r"/git-receive-pack$", 500)
    place.model.fail_next("overloaded", times=1)


def note_secrets(place, attempts):
    """Look for secrets in the log, and in all other files of a server that has stopped."""
    log = place.server.log.read_text()
    # What a log of settings and of GitHub's answers would hold.
    settings = "\n".join(place.server.environment(place.app).values())
    key = (place.server.data / "app.pem").read_text()
    answers = b"\n".join(each.answer for each in place.github.requests)
    said = answers.decode("utf-8", "replace")
    naive = f"{settings}\n{said}\n{key}"
    for secret in place.secrets():
        attempts.note("a secret in the log", blocked=secret not in log, bites=secret in naive)
    unsaid = not any(part in log for part in key.split()[4:8])
    attempts.note("the key in the log", blocked=unsaid, bites=True)
    files = [f for f in place.server.data.rglob("*") if f.is_file() and f.name != "app.pem"]
    held = [
        (file.name, secret[:8])
        for file in files
        for secret in place.secrets()
        if secret.encode() in file.read_bytes()
    ]
    attempts.note("secrets on disk", blocked=not held, detail=held, bites=True)


PLANTS = {
    "a file in /tmp": ("touch /tmp/planted", "ls /tmp/planted"),
    "a file at home": ("echo evil > ~/.bashrc; touch ~/planted", "cat ~/.bashrc ~/planted"),
    "an ignored file": (
        "mkdir -p __pycache__; touch __pycache__/planted",
        "ls __pycache__/planted",
    ),
    "a hook": ("printf '#!/bin/sh\\necho planted' > .git/hooks/post-checkout", "ls .git/hooks/p*"),
    "git's settings": ("git config core.fsmonitor planted", "git config core.fsmonitor"),
    "an object": ("echo planted | git hash-object -w --stdin", "git cat-file -p %OBJECT%"),
    "a branch": ("git branch planted", "git rev-parse --verify -q planted"),
    "a process": ("setsid sleep 600 & disown", "pgrep sleep"),
    "shared memory": ("touch /dev/shm/planted", "ls /dev/shm/planted"),
}
OBJECT = "9c595a6fb7692405a5c4a10e1caf93d8a5bf7c5f"


async def stays(planted):
    """Tell whether a bot with one machine for all runs finds what an earlier run left there."""
    plant, look = (each.replace("/tmp/", "../").replace("/dev/shm/", "../") for each in planted)
    look = look.replace("%OBJECT%", "$(echo planted | git hash-object --stdin)")
    async with open_bot() as bot:
        _, output = await bot.run(f"{{ {plant}; }}; {look} && echo found", alone=True)
        return "found\n" in output


@pytest.mark.attack(17)
async def test_a_run_finds_nothing_of_the_one_before(hostile, attempts):
    looks = [
        look.replace("%OBJECT%", "$(echo planted | git hash-object --stdin)")
        for _, look in PLANTS.values()
    ]
    plant = [[{"bash": {"command": plant}}] for plant, _ in PLANTS.values()]
    search = [[{"bash": {"command": f"{look} && echo found-{n}"}}] for n, look in enumerate(looks)]
    async with hostile(script=make_script(inside={"# Implement step 1 of 1": plant})) as place:
        await place.label()
        await place.wait_for_end()
        second = await place.file("Another one", "The sum again.")
        place.model.play(make_script(inside={"# Triage": search}))
        await place.label(issue=second)
        await place.all_done(2)
        heard = await place.read_results("triage/1")
    bites = await asyncio.gather(*map(stays, PLANTS.values()))
    for number, (name, bit) in enumerate(zip(PLANTS, bites, strict=True)):
        attempts.note(name, blocked=f"\nfound-{number}" not in heard, bites=bit)
