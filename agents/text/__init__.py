"""Untrusted text in, safe text out: what strangers write, and what a model says in public."""

from __future__ import annotations

from agents.text.actions import ADVISORIES, is_advisory
from agents.text.characters import plain_output, printable, without_hidden
from agents.text.child_process import clean_in_child, publish_in_child
from agents.text.incoming import Cleaned, clean, quote
from agents.text.inline import code_span, command_span
from agents.text.lines import commit_text, one_line, split_title, truncate
from agents.text.outgoing import fence_all, publish
from agents.text.pull_template import CheckedFact, fill_template, put_into_template

__all__ = [
    "ADVISORIES",
    "CheckedFact",
    "Cleaned",
    "clean",
    "clean_in_child",
    "code_span",
    "command_span",
    "commit_text",
    "fence_all",
    "fill_template",
    "is_advisory",
    "one_line",
    "plain_output",
    "printable",
    "publish",
    "publish_in_child",
    "put_into_template",
    "quote",
    "split_title",
    "truncate",
    "without_hidden",
]
