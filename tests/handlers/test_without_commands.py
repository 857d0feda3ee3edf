"""What a comment says besides its commands."""

from __future__ import annotations

import pytest

from handlers.command_parser import without_commands


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("Just words.", "Just words."),
        ("/bot approve k3f9x2", ""),
        ("/bot status", ""),
        ("/BOT anything at all\nand its words", ""),
        ("Before.\n\n/bot retry\n\nAfter.", "Before.\n\n\nAfter."),
        ("Before.\r\n/bot deny k3f9x2 no\r\nreason", "Before."),
        ("/bot retry\n/bot why\n\nAfter.", "After."),
        ("Say `/bot retry` then.", "Say `/bot retry` then."),
        ("```\n/bot retry\n```", "```\n/bot retry\n```"),
        ("> /bot retry\n\nMine.", "> /bot retry\n\nMine."),
        ("/bottle of wine", "/bottle of wine"),
        ("Yes.\n\nOn Monday, 3 May 2027, Eve Smith wrote:\n> Run it", "Yes."),
        ("", ""),
    ],
)
def test_without_commands(body, rest):
    assert without_commands(body) == rest
