"""The naive control: what an attack does to a bot that defends nothing.

An attack that does not bite here proves nothing about Fettle, and is not counted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import tempfile
import urllib.request
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

from cmarkgfm import cmark

USER = 58_995
"""Who the naive bot is where the tests are root: an ordinary user without a sandbox."""
SECONDS = 4
OUTPUT = 100_000
"""Bytes of output that its log and its next prompt would hold."""
QUIET = 4
"""Processes that count what is left: unshare's shell, and the parts of its last line."""
GIT = ("git", "-c", "user.name=naive", "-c", "user.email=naive@example.com")
INVISIBLE = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\U000e0000-\U000e01ef]|\x1b\\[[0-9;]*m"
)
HELD = "ulimit -v 1000000 -f 50000 -n 1000 -u 200;"
"""Bounds of the bot's machine, so that a bomb bites the control and not who runs the tests."""


class NaiveBot:
    """Runs commands as they come: in its clone, as its own user, with its secrets around them."""

    def __init__(self, folder, secret=""):
        self.folder, self.clone, self.secret = folder, folder / "clone", secret

    async def prepare(self, files=None):
        """Clone, as bots do: the token stands in the address, another one at home."""
        self.clone.mkdir(parents=True)
        for path, text in ({"calc.py": "", "words.py": ""} | (files or {})).items():
            (self.clone / path).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / path).write_text(text)
        (self.folder / ".netrc").write_text(f"machine example.com login x password {self.secret}\n")
        origin = f"https://x-access-token:{self.secret}@example.com/octo-org/calc"
        for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
            await self._ask_git(*arguments)
        await self._ask_git("remote", "add", "origin", origin)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)

    async def run(self, command, *, seconds=SECONDS, alone=False):
        """Return exit code and output; code None where it had to be ended.

        `alone`: in a process namespace, so that nothing outlives it (unshare(1)); whether
        something would have is then said by the last line, `left N`.
        """
        argv = ["bash", "-c", command, self.secret]  # its arguments hold one as well
        if alone:
            counted = f"({HELD} {command}); sleep 0.2; echo left $(($(ls -d /proc/[0-9]* | wc -l)))"
            mapped = () if os.geteuid() == 0 else ("--map-current-user",)
            spaces = ("--fork", "--pid", "--mount-proc", "--kill-child")
            argv = ["unshare", *mapped, *spaces, "bash", "-c", counted]
            if os.geteuid() == 0:
                inner = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
                argv = ["unshare", *spaces, *inner, "bash", "-c", counted]
        elif os.geteuid() == 0:
            argv = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *argv]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=self.clone,
                env=environment | {"CANARY_SECRET": self.secret},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), seconds)
            code = process.returncode
            with suppress(ProcessLookupError):  # what it left behind in its group as well
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            output.seek(0)
            return code, output.read(2 * OUTPUT).decode("utf-8", "replace")

    async def commit(self):
        """Commit all there is; return the paths with their modes, as `git ls-tree` lists them."""
        await self._ask_git("add", "-A")
        await self._ask_git("commit", "-qm", "x", "--allow-empty")
        return await self._ask_git("ls-tree", "-r", "HEAD")

    async def _ask_git(self, *arguments):
        safe = ("-c", f"safe.directory={self.clone}")
        process = await asyncio.create_subprocess_exec(
            *(*GIT, *safe, "-C", str(self.clone), *arguments),
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        return said.decode("utf-8", "replace")


@asynccontextmanager
async def open_bot(files=None, secret=""):
    """Yield a naive bot with a clone of its own, in which these files are."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-naive-"))
    folder.chmod(0o755)
    bot = NaiveBot(folder, secret)
    await bot.prepare(files)
    try:
        yield bot
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def list_committed(commands, files=None):
    """Return by name what is committed where each command ran, each in a clone of its own."""
    listed = {}
    for name, command in commands.items():
        async with open_bot(files) as bot:
            await bot.run(command)
            listed[name] = await bot.commit()
    return listed


def overwhelms(code, output):
    """Tell whether a command in a namespace of its own had to be ended, or left something."""
    left = re.search(r"^left (\d+)$", output, re.MULTILINE)
    bounded = re.search(r"(?i)resource|memory|too many|file size|cannot fork", output)
    stayed = left is not None and int(left[1]) > QUIET
    return code is None or len(output) > OUTPUT or bool(bounded) or stayed


def leads_inwards(address):
    """Tell whether a program that opens any address would ask for something of this network."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https", "ftp"):
        return _opens(address)
    host = parts.hostname or ""
    try:
        found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        return False
    return any(not ipaddress.ip_address(each[4][0]).is_global for each in found)


def _opens(address):
    try:
        with urllib.request.urlopen(address, timeout=1) as answer:
            return bool(answer.read(10))
    except (URLError, ValueError, OSError):
        return False


def show(markdown):
    """Return what people see of a text on GitHub, without what they do not see."""
    page = cmark.markdown_to_html_with_extensions(
        markdown, cmark.Options.CMARK_OPT_UNSAFE, ["table", "autolink"]
    )
    unseen = re.sub(r"(?s)<!--.*?(-->|\Z)|<[^>]*>", "", page)
    return INVISIBLE.sub("", unseen)


def takes_for_yes(comment):
    """Tell whether a bot that looks for the word anywhere would take this for a yes."""
    return bool(re.search(r"approve", INVISIBLE.sub("", comment)))


def takes_for_order(body):
    """Tell whether a bot that believes every delivery would begin to work at this one."""
    try:
        payload = json.loads(body)
    except ValueError:
        return False
    return isinstance(payload, dict) and payload.get("action") == "labeled"
