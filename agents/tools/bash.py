"""The tool `bash`, which runs a command in the sandbox."""

from __future__ import annotations

import hashlib
from typing import ClassVar

from pydantic import Field

from agents.ports import CommandResult, WorkTree
from agents.text import plain_output, printable, truncate
from agents.tools.base import Bench, Effect, Tool

KEPT = 400_000  # bytes of output that reach us; the sandbox counts the rest away
PIECE = 30_000  # characters of one argument: the kernel takes up to 128 KiB
FOLDER = ".git/fettle"  # in the agent's own throw-away gitdir: commands see it, commits do not


class Bash(Tool):
    """Run a bash command in the repository's root; returns its exit code and output.

    No input. Only files stay from call to call; a stage that only reads keeps none in the
    repository. The middle of long output is cut out: keep it short (`-q`, `| tail -40`). For files
    prefer read, grep, glob and edit. Deleting more than build output or files named one by one,
    rewriting history, dropping changes and installing something new waits for a person, perhaps
    for days. Write names of programs out.
    """

    name: ClassVar[str] = "bash"
    effect: ClassVar[Effect] = Effect.EXECUTE

    command: str = Field(min_length=1)
    """For `bash -c`; several lines are fine."""
    timeout: float = Field(default=120, ge=1, le=1800)
    """Seconds."""

    def subject(self) -> str:
        """Return the command's first line."""
        return self.command.strip().split("\n", 1)[0]

    def script(self) -> str:
        """Return the command."""
        return self.command

    async def run(self, bench: Bench) -> str:
        """Run it; tell how it ended, then what it wrote."""
        result = await bench.tree.run(
            ["bash", "-c", "--", self.command],
            timeout=self.timeout,
            writable=bench.writable,
            max_output=KEPT,
            network=bench.network,
        )
        output = plain_output(result.output).rstrip()
        room = self.room - 200  # for the first line
        if len(output) > room:
            output = truncate(output, room, await _rest(bench, output))
        return f"{self._describe_end(result)}\n\n{output or '(no output)'}"

    def _describe_end(self, result: CommandResult) -> str:
        after = f"after {result.seconds:.1f} s"
        match result.why:
            case "exit":
                return f"exit code {result.exit_code} {after}"
            case "timeout":
                return (
                    f"exit code {result.exit_code}: stopped by the time limit {after}, it had not"
                    " ended. Do less at once, or raise `timeout`."
                )
            case "output":
                return (
                    f"exit code {result.exit_code}: stopped {after} because it wrote far too much."
                    " Send its output to a file or through a filter."
                )
            case "killed":
                return (
                    f"exit code {result.exit_code}: killed {after}; it ran out of processor time,"
                    " wrote too large a file, or a signal ended it."
                )
            case "memory":
                return (
                    f"exit code {result.exit_code}: killed {after} because it used up the memory"
                    " there is. Do less at once: fewer processes, smaller data, one test file."
                )
            case "disk":
                return (
                    f"exit code {result.exit_code}: stopped {after} because the repository, /tmp"
                    " and the home folder became too large together. Remove what it wrote before"
                    " you go on."
                )


async def _rest(bench: Bench, output: str) -> str:
    """Return how to get at what is cut out: a file where commands may write, else advice."""
    kept = await _save_output(bench.tree, output) if bench.writable else None
    if kept is None:
        return "run it with less output, or through grep, head or tail, to see the rest"
    return f"all of it is in {kept}: use bash with grep or sed -n on it"


async def _save_output(tree: WorkTree, output: str) -> str | None:
    """Write the output where later commands find it; None if that does not work here.

    The name follows from the text, so that doing a call again gives the same answer.
    """
    text = printable(output)
    path = f"{FOLDER}/{hashlib.sha256(text.encode()).hexdigest()[:10]}.txt"
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    script = f'mkdir -p {FOLDER} && printf %s "$@" > {path}'
    result = await tree.run(["bash", "-c", script, "bash", *pieces], timeout=20)
    return path if result.exit_code == 0 else None
