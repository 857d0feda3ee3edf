"""Which tools in which versions a sandbox sees: it is asked from inside, whatever it is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

import structlog

from app.sandbox.port import Mount, Sandbox, SandboxCommand

Source = Literal["machine", "operator", "fetched"]

_SYSTEM = ("/usr/local/bin", "/usr/bin")
_ELSEWHERE = ("/usr/lib/jvm/*/bin", "/usr/lib/go-*/bin", "/usr/local/*/bin", "/opt/*/bin")
_SECONDS = 120.0
_MOST_SEEN = 200
_LINE = re.compile(r"([a-z]{2,8})\t(\d+(?:\.\d+){0,4})\S*\t(/[\w.+/@-]{1,400})\t([*-])")
_PLAIN_NAMES = {"java": ("javac",), "python": ("python3",), "rust": ("rustc",)}

_SCRIPT = r"""
set -u
shopt -s nullglob
ask() { timeout -k 2 15 "$@" 2>/dev/null </dev/null | head -c 400; }
say() {
  case $1 in python) plain=python3 ;; java) plain=javac ;; rust) plain=rustc ;; *) plain=$1 ;; esac
  mark=-; [ "$(type -P "$plain")" = "$3" ] && mark='*'
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$mark"
}
declare -A told  # one program has several names, and what is no Python tells them apart
python() {
  for file in "$1"/python3 "$1"/python3.[0-9] "$1"/python3.[0-9][0-9]; do
    if [ -x "$file" ]; then
      code='import ensurepip, sys, venv; print("%d.%d.%d" % sys.version_info[:3])'
      real=$(readlink -f -- "$file")
      case ${real##*/} in python3*) ;; *) real=$file ;; esac
      [ -n "${told[$real]+x}" ] || told[$real]=$(ask "$file" -Ic "$code")
      say python "${told[$real]}" "$file"
    fi
  done
}
node() { [ -x "$1/node" ] && said=$(ask "$1/node" --version) && say node "${said#v}" "$1/node"; }
go() { [ -x "$1/go" ] && said=$(ask "$1/go" version) && said=${said#go version go} &&
  say go "${said%% *}" "$1/go"; }
java() { [ -x "$1/javac" ] && said=$(ask "$1/javac" -version) &&
  say java "${said#javac }" "$1/javac"; }
ruby() {
  for file in "$1"/ruby "$1"/ruby[0-9].[0-9]; do
    [ -x "$file" ] && say ruby "$(ask "$file" -e 'print RUBY_VERSION')" "$file"
  done
}
rust() { [ -x "$1/cargo" ] && [ -x "$1/rustc" ] && said=$(ask "$1/rustc" --version) &&
  said=${said#rustc } && say rust "${said%% *}" "$1/rustc"; }
dotnet() {
  [ -x "$1/dotnet" ] || return
  ask "$1/dotnet" --list-sdks | while read -r version _; do say dotnet "$version" "$1/dotnet"; done
}
pnpm() { [ -x "$1/pnpm" ] && say pnpm "$(ask "$1/pnpm" --version)" "$1/pnpm"; }
yarn() { [ -x "$1/yarn" ] && say yarn "$(ask "$1/yarn" --version)" "$1/yarn"; }
cd / || exit 1
for folder in $FOLDERS; do
  for tool in $TOOLS; do "$tool" "${folder%/}"; done
done
exit 0
"""


@dataclass(frozen=True)
class SeenTool:
    """One tool that sandboxes have."""

    tool: str
    version: str
    program: str
    """Its path inside."""
    source: Source
    first: bool = False
    """Whether its name alone finds it."""

    @property
    def folder(self) -> str:
        """Return the folder of the program."""
        return str(PurePosixPath(self.program).parent)

    @property
    def needs_links(self) -> bool:
        """Tell whether its folder cannot come first on PATH as it is."""
        name = PurePosixPath(self.program).name
        plain = _PLAIN_NAMES.get(self.tool, (self.tool,))
        return self.folder in _SYSTEM or name not in plain


async def see_tools(
    sandbox: Sandbox, tools: Iterable[str], operators: Sequence[str]
) -> list[SeenTool]:
    """Return what sandboxes see of these tools, on the machine and in the operator's folders."""
    patterns = [
        f"{each}{deeper}" for each in operators for deeper in ("/bin", "/*/bin", "/*/*/bin")
    ]
    # Where a tool is found by its name alone comes out of PATH; the rest is looked through.
    found = await _ask(sandbox, tools, (*patterns, *_SYSTEM, *_ELSEWHERE), (), "")
    return [*_with_sources(found, operators)]


async def see_kit(
    sandbox: Sandbox, tool: str, mounts: tuple[Mount, ...], path: str
) -> list[SeenTool]:
    """Return what the last of these mounts, a kit, has of a tool; `path` comes first on PATH."""
    at = mounts[-1].target
    patterns = [f"{at}{deeper}bin" for deeper in ("/", "/*/", "/*/*/", "/*/*/*/", "/*/*/*/*/")]
    return await _ask(sandbox, [tool], patterns, mounts, path)


def _with_sources(found: Iterable[SeenTool], operators: Sequence[str]) -> Iterator[SeenTool]:
    for seen in found:
        own = any(PurePosixPath(seen.program).is_relative_to(folder) for folder in operators)
        yield SeenTool(
            seen.tool,
            seen.version,
            seen.program,
            "operator" if own else "machine",
            seen.first,
        )


async def _ask(
    sandbox: Sandbox,
    tools: Iterable[str],
    patterns: Iterable[str],
    mounts: tuple[Mount, ...],
    path: str,
) -> list[SeenTool]:
    folders = " ".join(_quote_pattern(pattern) for pattern in patterns)
    first = f"PATH={shlex.quote(path)}:$PATH\n" if path else ""
    script = f"{first}TOOLS={shlex.quote(' '.join(tools))}\n{_SCRIPT}"
    command = SandboxCommand(
        ("bash", "-c", script.replace("$FOLDERS", folders)),
        folder="/",
        mounts=mounts,
        timeout=_SECONDS,
    )
    result = await sandbox.run(command)
    if result.why != "exit" or result.exit_code:
        structlog.get_logger().warning("tools not all seen", why=result.why)
    lines = (_LINE.fullmatch(line) for line in result.output.splitlines())
    seen = [SeenTool(m[1], m[2], m[3], "fetched", m[4] == "*") for m in lines if m]
    return list(dict.fromkeys(seen))[:_MOST_SEEN]


def _quote_pattern(pattern: str) -> str:
    """Return a pattern for bash in which nothing but its stars is special."""
    return "*".join(shlex.quote(part) if part else "" for part in pattern.split("*"))
