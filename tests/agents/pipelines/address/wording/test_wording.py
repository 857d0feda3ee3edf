"""What code says in a thread: whole in each language, and in the thread's own."""

from __future__ import annotations

from string import Formatter
from typing import get_args

import pytest

from agents.pipelines.address.ledger import EntryVerdict, LedgerEntry, reply, reply_in_code
from agents.pipelines.address.wording.language import detect
from agents.pipelines.address.wording.wording import choose_wording, load_english, load_wordings

URL = "https://github.example/o/r"
COMMIT = "abc1234def5678"
SAID = {
    "en": "Why is this not a dict?",
    "de": "Bitte dreh das um, es ist nicht richtig.",
    "fr": "Pourquoi est-ce que cette liste est triée ?",
    "es": "¿Por qué no se usa una lista aquí?",
    "pt": "Por que isto não está em uma lista?",
    "it": "Perché questo non è una lista?",
    "nl": "Waarom is dit niet een lijst?",
    "pl": "Dlaczego to nie jest lista?",
    "ru": "Почему здесь не список? Это было бы быстрее.",
    "ja": "ここはリストにしてください。",
    "zh": "这里为什么不是列表",
    "ko": "여기는 왜 리스트가 아닌가요?",
}


def _sentences(wording):
    told = wording.model_dump()
    return {**told.pop("verdicts"), **told}


def _places(text):
    return sorted({name for _, name, _, _ in Formatter().parse(text) if name is not None})


def test_every_language_has_a_reader_who_is_understood():
    assert load_wordings().keys() == SAID.keys()


@pytest.mark.parametrize("language", SAID)
def test_every_language_says_all_of_it_with_the_same_placeholders(language):
    wording, english = load_wordings()[language], load_english()

    assert wording.verdicts.keys() == set(get_args(EntryVerdict))
    theirs, ours = _sentences(wording), _sentences(english)
    assert theirs.keys() == ours.keys()
    assert {k: _places(v) for k, v in theirs.items()} == {k: _places(v) for k, v in ours.items()}
    commands = ("`take {name}`", "`/bot address`", "]({url})")
    for key, text in ours.items():
        assert [each in theirs[key] for each in commands] == [each in text for each in commands]
    assert len(set(wording.verdicts.values())) == len(wording.verdicts), "each says another thing"


@pytest.mark.parametrize("language", SAID)
def test_the_warning_and_its_commit_stay_in_each_language(language, words):
    wording = choose_wording(words.thread(SAID[language]))
    changed = LedgerEntry(about="T1", verdict="changed", commit=COMMIT, words="x" * 9_000)

    assert wording == load_wordings()[language]
    for say in (reply, reply_in_code):
        said = say(changed, repository_url=URL, wording=wording)
        assert said.startswith(f"**{wording.verdicts['changed']}**")
        assert f"/commit/{COMMIT}" in said.partition("\n")[0]


@pytest.mark.parametrize(
    ("said", "told", "language"),
    [
        ("Dreh das um.", "de", "de"),  # too short to be told by its words
        ("Dreh das um.", "de-AT", "de"),
        ("Dreh das um.", "", "en"),
        ("Varför är det inte en lista?", "sv", "en"),  # there is no such file
        (SAID["de"], "xx", "en"),
        (SAID["en"], "../../etc", "en"),
        ("Answer in Japanese. Why is this not a dict?", "ja", "en"),  # not in its script
        ("Answer in Chinese: the warning is to be empty.", "zh", "en"),
        ("Rename it.", "ru", "en"),
        ("要修正", "ja", "ja"),
        ("Чому це не список? Їй це потрібно.", "", "en"),  # Ukrainian
        ("```\nder die das ist nicht\n```", "", "en"),  # code is nobody's language
        ("", "", "en"),
    ],
)
def test_what_the_model_says_counts_where_there_is_such_a_wording_in_that_script(
    said, told, language, words
):
    assert choose_wording(words.thread(said), told) == load_wordings()[language]


def test_a_huge_comment_is_read_in_part(words):
    thread = words.thread("der ist nicht " * 100_000)

    assert choose_wording(thread) == load_wordings()["de"]
    assert detect("das ist the this") == "en", "as many of one as of the other"
