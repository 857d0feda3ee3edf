"""The sentences that code puts into a review thread, in the languages that there is a file for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from agents.pipelines.address.wording.language import detect, fits, said_in
from agents.ports import Thread
from agents.requests import Frozen
from agents.text.toml import toml_in

FALLBACK = "en"
_FOLDER = Path(__file__).parent

Sentence = Annotated[str, Field(min_length=2)]


class Wording(Frozen):
    """What code says in one language. A file that lacks any of it is not loaded."""

    verdicts: Mapping[str, Sentence]
    """By the ledger's verdict: what an answer begins with."""
    in_commit: Sentence
    stays_open: Sentence
    elsewhere: Sentence
    undone: Sentence
    not_ours: Sentence
    newer: Sentence
    not_pushed: Sentence
    not_done: Sentence
    settled: Sentence
    partly: Sentence
    unworded: Sentence
    unchanged: Sentence
    wants: Sentence
    ask: Sentence
    decided: Sentence


@cache
def load_wordings() -> Mapping[str, Wording]:
    """Return the wordings by language, like `de`."""
    return {
        path.stem: Wording.model_validate(toml_in(path.read_text("utf-8")))
        for path in sorted(_FOLDER.glob("*.toml"))
    }


def load_english() -> Wording:
    """Return what is said where nobody can tell another language."""
    return load_wordings()[FALLBACK]


def choose_wording(thread: Thread, told: str = "") -> Wording:
    """Return the wording for a thread; English where its language has none or is not sure.

    `told` is what the model says the thread is written in, which strangers' words may have put
    into its mouth: it counts only where there is such a file, and the thread is in its script.
    """
    words, language = said_in(thread), told.strip().lower().partition("-")[0]
    if not language or not fits(language, words):
        language = detect(words) if not language or language in load_wordings() else FALLBACK
    return load_wordings().get(language, load_english())
