"""Convert HTML to Markdown in a process of its own, limited in time and memory."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from agents.errors import ToolError
from app.sandbox.output_buffer import FullBuffer, HeadTailBuffer
from app.sandbox.process_group import make_memory_file, run_group

SECONDS = 10
MEMORY = 1_500_000_000  # bytes of addresses, not of what is used
MOST = 5_000_000  # bytes of Markdown; whole links are longer than relative ones

_READABLE = Path(__file__).with_name("readable.py")


async def as_markdown(html: str, base: str) -> str:
    """Return the text of a page. Raises ToolError when its HTML defeats the parser."""
    out, said = FullBuffer(MOST), HeadTailBuffer(2_000, 100_000)
    given = make_memory_file("page", json.dumps({"html": html, "base": base}).encode())
    try:
        ended = await run_group(
            [
                *("prlimit", f"--cpu={SECONDS}", f"--as={MEMORY}", "--core=0", "--"),
                *(sys.executable, "-I", str(_READABLE)),
            ],
            environment={"PATH": "/usr/bin:/bin"},
            timeout=SECONDS,
            out=out,
            err=said,
            stdin=given,
        )
    finally:
        os.close(given)
    if ended.why != "exit" or ended.code != 0:
        raise ToolError(f"The markup of {base} is too tangled to be read as text.")
    return out.data().decode()
