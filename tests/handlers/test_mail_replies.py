"""The mail that somebody answered is not theirs, in whatever language it is introduced."""

from __future__ import annotations

import time

import pytest

from handlers.command_parser import LONGEST, parse_commands, strip_commands
from handlers.mail_replies import find_quoted_mail

INTRODUCTIONS = {
    "de": "Am 03.11.26 um 10:00 schrieb Fettle:",
    "fr": "Le lun. 3 nov. 2026 à 10:00, Fettle <fettle@example.com> a écrit :",
    "fr, plain": "Le 3 novembre 2026, Fettle a écrit:",
    "es": "El lun, 3 nov 2026 a las 10:00, Fettle (<fettle@example.com>) escribió:",
    "it": "Il giorno lun 3 nov 2026 alle ore 10:00 Fettle ha scritto:",
    "nl": "Op ma 3 nov 2026 om 10:00 schreef:",
    "pl": "Dnia 3 listopada 2026 10:00 Fettle napisał(a):",
    "cs": "Dne 3. 11. 2026 Fettle napsal(a):",
    "da": "Den man. 3. nov. 2026 kl. 10.00 skrev Fettle:",
    "pt": "Em seg., 3 de nov. de 2026 às 10:00, Fettle <fettle@example.com> escreveu:",
    "fi": "ma 3. marrask. 2026 klo 10.00 Fettle <fettle@example.com> kirjoitti:",
    "zh": "2026年11月3日 10:00 Fettle 写道\uff1a",
    "ko": "2026년 11월 3일 오전 10:00, Fettle 님이 작성하였습니다:",
    "two lines": "Am Montag, 3. November 2026 um 10 Uhr schrieb Fettle\n<f@example.com>:",
    "de, Outlook": "Von: Fettle\nGesendet: Montag, 3. November 2026",
    "fr, Outlook": "De : Fettle\nEnvoyé : lundi 3 novembre 2026",
    "sv, Outlook": "Från: Fettle\nSkickat: den 3 november 2026",
}


@pytest.mark.parametrize("name", INTRODUCTIONS)
def test_commands_of_an_answered_mail_are_none(name):
    body = f"Thanks.\n\n{INTRODUCTIONS[name]}\n\n/bot approve k3f9\n"
    assert parse_commands(body) == ()
    assert strip_commands(body) == "Thanks."


@pytest.mark.parametrize(
    "text",
    [
        "It says:",
        "On Monday it failed with this:",
        "The date: 3 November\nThe time: 10:00",
        "Am Ende schrieb es nichts.",
        "Van alles gebeurt hier: dat",
        "Data: 3\nA: 4",
        "See <https://example.com> for 3 more:",
    ],
)
def test_what_people_write_themselves_stays(text):
    lines = [*text.split("\n"), "", "/bot go"]
    assert find_quoted_mail(lines) == len(lines)
    assert [each.verb for each in parse_commands("\n".join(lines))] == ["go"]


@pytest.mark.parametrize(
    "unit", ["Am schrieb ", "On wrote ", "Le a écrit ", "Von:\n", "El  escribió ", "1 <a@b> ", "年"]
)
@pytest.mark.parametrize("width", [1, 20, 290])
def test_no_comment_takes_long(unit, width):
    text = f"{unit * width}:\n" * (LONGEST // (len(unit) * width + 2))
    began = time.process_time()
    find_quoted_mail(text.split("\n"))
    assert time.process_time() - began < 2
