"""GitHub's parser in several threads, in a process's first call, and a thousand times."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cmarkgfm import cmark

from agents.text.github_parser import FOOTNOTES, PRE_LANG, UNSAFE, render

OPTIONS = FOOTNOTES | PRE_LANG | UNSAFE
TEXTS = [
    "~~gone~~ http://x.org/a www.a.b\n\n| a | b |\n|---|---|\n| ~~c~~ | d |\n" * 20,
    "plain *a* [x](http://a) `code` ~~b~~\n\n" * 30,
    "ftp://a.b @me ~~c~~[^1]\n\n[^1]: foot ~~x~~\n" * 10,
]
THREADS = 8
CALLS = 600
FIRST_CALLS = f"""
import threading
from agents.text.github_parser import render
barrier = threading.Barrier({THREADS})
def first():
    barrier.wait()
    render("~~a~~", 0)
threads = [threading.Thread(target=first) for _ in range({THREADS})]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def resident():
    """Bytes of memory that this process has now: proc_pid_statm(5)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_it_makes_what_the_packages_own_function_makes():
    extensions = ["table", "strikethrough", "autolink"]
    for text in (*TEXTS, "", "\0", "a\u2028b", "<b>x</b>"):
        expected = cmark.markdown_to_html_with_extensions(text, OPTIONS, extensions)
        assert render(text, OPTIONS) == expected


def test_it_reads_the_same_in_several_threads_at_once():
    expected = [render(text, OPTIONS) for text in TEXTS]
    with ThreadPoolExecutor(THREADS) as pool:
        made = list(pool.map(lambda n: render(TEXTS[n % 3], OPTIONS), range(CALLS)))
    assert [html == expected[n % 3] for n, html in enumerate(made)] == [True] * CALLS


def test_first_calls_of_several_threads_do_not_end_the_process():
    for _ in range(3):
        command = [sys.executable, "-c", FIRST_CALLS]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_it_gives_its_memory_back():
    for _ in range(50):
        render(TEXTS[0], OPTIONS)
    before = resident()
    for _ in range(1000):
        render(TEXTS[0], OPTIONS)
    assert resident() - before < 8 * 2**20  # trees and HTML that are kept would be 100 MiB
