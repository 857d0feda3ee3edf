"""Tell a verb from a participle or a preposition, by which a function must not be called."""

from __future__ import annotations

import re

_PARTICIPLE = re.compile(r"[a-z]{2,}(?:ed|en|ing)")
_WORD = re.compile(r"\w+")
_IRREGULAR = frozenset(
    _WORD.findall("""
am are be been begun bought bound broke built came caught chose did do done drawn fed fell
felt forgot found gave gone got grew grown had has have heard held hid is kept knew known
laid led left lent lit lost made meant met paid put ran rang said sat saw seen sent shown
shut sold sought spent spoke spun stood stuck sunk swept sworn taught thrown told took torn
understood undone unheard unread was went were withheld won wore worn wound wrote
""")
)
_PREPOSITIONS = frozenset(  # with adverbs, conjunctions and pronouns
    _WORD.findall("""
about above across afresh after again against ago alike all alone along already among and
anew any apart around as at away back backwards because before behind below beneath beside
besides between beyond both but by despite down during each early elsewhere enough every
everything everywhere exactly except few fewer for forward from here how in inside into its
just late later less like many meanwhile mine more near nearest nearly never newly no none
nothing now nowhere of off on once only onto opposite or other others ours out outside over
overdue past per plus same several since some something still such than that theirs then
there these this those through till to together toward under unless unlike until up upon via
what when where whether which while who whom whose why with within without yes yet
""")
)
_END_SO = frozenset(  # verbs and nouns that end like a participle
    _WORD.findall("""
bring encoding feed flatten heading listen listing mapping open ping ring seed setting
shorten string thing token widen
""")
)


def is_no_verb(name: str) -> bool:
    word = name.strip("_")
    ends_so = _PARTICIPLE.fullmatch(word) is not None and word not in _END_SO
    return ends_so or word in _IRREGULAR or word in _PREPOSITIONS
