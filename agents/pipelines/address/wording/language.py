"""Tell the language of a review thread without a model: by its script and its commonest words.

This knows the languages that there is a wording for, and no others. Short or mixed words are
nothing to be sure of: then it is English. Libraries that know more bring megabytes of models.
"""

from __future__ import annotations

import re
from collections import Counter

from agents.ports import Thread

LONGEST = 4_000  # characters of each comment that are looked at
ALL = 20_000  # and of all of them, from the newest back: this runs on the event loop
LEAST = 2  # common words that a language is told by

_WORD = re.compile(r"[^\W\d_]+")
_FENCED = re.compile(r"```|~~~")
_LATIN = re.compile(r"[A-Za-z]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_RUSSIAN = re.compile(r"[ыэёЫЭЁ]")
_NOT_RUSSIAN = re.compile(r"[іїєґўјљњћђџІЇЄҐЎЈЉЊЋЂЏ]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_CHINESE = re.compile("[的了是这這吗嗎们們请請没沒]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_SCRIPTS = {"ja": re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]"), "zh": _HAN, "ko": _HANGUL}

_COMMON = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the this is are and that it of to with for not should be why what please we you",
        "de": "der das ist und nicht ein eine hier bitte warum wird sind mit auf wir den sollte"
        " auch dass für kann oder wenn aber es",
        "fr": "le les est et une dans pas pour ce cette il que pourquoi avec sur du des vous être"
        " nous ici qui au",
        "es": "el los las es y una no por para esto esta qué que con del en se debería aquí pero"
        " como más lo",
        "pt": "o os um uma não para por isto isso este esta que com do da em está você aqui mas"
        " como mais são",
        "it": "il gli è e una non per questo questa che con del della di perché qui sono ma come"
        " più nel dovrebbe",
        "nl": "de het een is en niet dit dat voor met van waarom hier zijn we moet ook maar als"
        " deze wordt kan",
        "pl": "nie jest to w i na się czy dlaczego dla tego tutaj proszę ale jak co tym tu przez"
        " powinno być",
    }.items()
}


def said_in(thread: Thread) -> str:
    """Return what people wrote in the thread, without most of the code in it."""
    bodies = [each.body[:LONGEST] for each in thread.said if not each.own]
    return "\n".join(part for body in bodies for part in _FENCED.split(body)[::2])[-ALL:]


def fits(language: str, words: str) -> bool:
    """Return whether the words hold letters of the script that the language is written in."""
    if language == "ru":
        return bool(_CYRILLIC.search(words))
    return bool(_SCRIPTS.get(language, _LATIN).search(words))


def detect(words: str) -> str:
    """Return the language, like `de`; `en` where it is not sure."""
    if _KANA.search(words):
        return "ja"
    if _HANGUL.search(words):
        return "ko"
    if _CHINESE.search(words):
        return "zh"
    if _RUSSIAN.search(words) and not _NOT_RUSSIAN.search(words):
        return "ru"
    said = [word.lower() for word in _WORD.findall(words)]
    found = Counter({name: sum(w in common for w in said) for name, common in _COMMON.items()})
    (first, most), (_, next_most) = found.most_common(2)
    return first if most >= LEAST and most > next_most else "en"
