"""Files of the work tree as tools see them: searched by ripgrep, and decoded text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from agents.errors import ToolError
from agents.ports import CommandResult, WorkTree

LARGEST = 5_000_000  # bytes of a file that the tools for text open
SIMILAR = 5  # paths suggested when a file is not there

_MARKS = (  # longest first: the mark of UTF-32-LE begins with that of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
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


@dataclass(frozen=True)
class TextFile:
    """A file's text, and what it takes to write it back as it was."""

    text: str
    """Decoded, line endings as they are in the file."""
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark that the file begins with."""

    @property
    def newline(self) -> str:
        """Return the line ending that most lines have."""
        return "\r\n" if self.text.count("\r\n") * 2 > self.text.count("\n") else "\n"

    @property
    def lines(self) -> list[str]:
        """Return the lines without their endings; a final line break adds no empty line."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    @property
    def peculiarities(self) -> str:
        """Return what is unusual about the file, for the model; empty for UTF-8 with LF."""
        found = []
        if self.encoding != "utf-8" or self.mark:
            found.append(
                f"encoding {self.encoding}{' with a byte order mark' if self.mark else ''}"
            )
        if self.newline == "\r\n":
            found.append("CRLF line endings")
        return ", ".join(found)

    def encode(self, text: str) -> bytes:
        """Return other text as this file's bytes; ToolError if its encoding cannot hold it."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            char = error.object[error.start]
            raise ToolError(
                f"The file is in {self.encoding}, which has no {char!r}. Write it with an escape"
                " of the language, or convert the file with a command first."
            ) from error


def decode(path: str, data: bytes) -> TextFile:
    """Return the bytes as text; ToolError when they are none."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return TextFile(_decode(path, data[len(mark) :], encoding), encoding, mark)
    if b"\0" in data:
        raise _binary(path, len(data))
    try:
        return TextFile(data.decode("utf-8"))
    except UnicodeDecodeError:
        return TextFile(data.decode("latin-1"), "latin-1")  # holds any bytes, and gives them back


async def load(tree: WorkTree, path: str) -> TextFile:
    """Return a text file of the work tree; ToolError, with files of that name, if there is none."""
    try:
        data = await tree.read(path, limit=LARGEST)
    except ToolError as error:
        raise ToolError(f"{error}{await _find_elsewhere(tree, path)}") from error
    return decode(path, data)


def _decode(path: str, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _binary(path, len(data)) from error


def _binary(path: str, size: int) -> ToolError:
    return ToolError(
        f"{path} is not a text file ({size:,} bytes). Look at it with a command, such as"
        f" `file` or `xxd {path} | head`."
    )


async def _find_elsewhere(tree: WorkTree, path: str) -> str:
    """Return a hint at files of the same name in other folders; empty if there are none."""
    name = path.rsplit("/", 1)[-1]
    if any(char in name for char in "*?[]{}!\\"):
        return ""
    try:
        found = await run_ripgrep(tree, ["--files", f"--iglob=**/{name}"])
    except ToolError:
        return ""
    places = [place for place in found if place != path][:SIMILAR]
    return f" Files of that name: {', '.join(places)}." if places else ""


# --- searching ----------------------------------------------------------------------------------


async def run_ripgrep(tree: WorkTree, options: Sequence[str], path: str = ".") -> list[str]:
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
