"""Step 8: ripgrep in the sandbox, as `grep` and `glob` use it."""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import ToolError
from agents.ports import CommandResult, WorkTree

SECONDS = 60
NOT_FOUND = 127  # a program that is not there, as shells tell it
FIXED = (
    "--no-config",  # a file in the repository must not change what is found
    "--no-messages",  # unreadable files are no matches
    "--color=never",
    "--sort=path",  # the same answer every time
    "--hidden",
    "--no-require-git",  # .gitignore counts even where a command broke .git
)


async def ripgrep(tree: WorkTree, options: Sequence[str], path: str = ".") -> list[str]:
    """Return the lines it prints; none when nothing matches. Options are `--name=value` only.

    Raises ToolError with its own words for a bad pattern.
    """
    where = path if path == "." else f"./{path}"
    result = await tree.run(
        ["rg", *FIXED, *options, "--glob=!.git", "--", where],
        timeout=SECONDS,
        writable=False,
        max_output=400_000,
    )
    _check(result, path)
    return [line.removeprefix("./") for line in result.output.splitlines()]


def _check(result: CommandResult, path: str) -> None:
    if result.why == "timeout":
        raise ToolError(f"The search took longer than {SECONDS} s. Search in one folder.")
    if result.exit_code == NOT_FOUND:
        raise ToolError("ripgrep is not installed here. Search with bash: `grep -rn`, `find`.")
    if result.exit_code in (0, 1) or result.output.startswith("./"):
        return  # 1: no match. Anything else after matches: some files could not be read
    raise ToolError(result.output.strip()[:2000] or f"There is no file or folder {path}.")
