"""Folders of a repository that ask for another version of a tool than what lies around them.

Programs of the tool's names come first on PATH. Each looks which folder it is called in, and goes
on to that folder's own tool, or else to the next one on PATH. The programs are the same for
everybody; which folder has which tool stands in a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from agents.analysis.languages import place_venv
from agents.analysis.toolchains import ToolDemand
from agents.ports import Kit
from app.toolchains.recipes import make_kit

VARIABLE = "FOLDER_TOOLCHAINS"
"""Lines of `folder of the repository:folder of programs`."""

PROGRAMS = {
    "python": ("python", "python3"),
    "node": ("node", "npm", "npx", "corepack"),
    "go": ("go", "gofmt"),
    "ruby": ("ruby", "gem", "bundle", "bundler", "irb", "rake"),
    "rust": ("cargo", "rustc", "rustdoc", "rustfmt", "cargo-clippy", "cargo-fmt", "clippy-driver"),
    "pnpm": ("pnpm", "pnpx"),
    "yarn": ("yarn", "yarnpkg"),
}
"""The tools that folders can have of their own, and how their programs are called."""

_NAME = re.compile(r"[^:\x00-\x1f\x7f]{1,300}")
_MOST_FOLDERS = 24
_SWITCH = r"""#!/bin/sh
name=${0##*/} own=${0%/*} here=${PWD#/workspace}/ best='' longest=0
while IFS=: read -r folder bin; do
  case $here in
    "/$folder/"*) [ "${#folder}" -gt "$longest" ] && [ -x "$bin/$name" ] &&
      longest=${#folder} best=$bin ;;
  esac
done <<END
${FOLDER_TOOLCHAINS-}
END
if [ -n "$best" ]; then
  PATH=$best:$PATH
  export PATH
  exec "$best/$name" "$@"
fi
IFS=:
for bin in $PATH; do
  if [ "$bin" != "$own" ] && [ -x "$bin/$name" ]; then exec "$bin/$name" "$@"; fi
done
echo "$name: not found" >&2
exit 127
"""
_MAKE = """\
mkdir "$KIT/bin"
cat >"$KIT/bin/{first}" <<'SWITCH'
{switch}SWITCH
chmod 755 "$KIT/bin/{first}"
cd -- "$KIT/bin"
for name in {others}; do cp {first} "$name"; done
"""


def make_switch(tools: Iterable[str]) -> Kit:
    """Return the programs of these tools that go on to the folder's own."""
    names = [name for tool in tools for name in PROGRAMS[tool]]
    script = _MAKE.format(first=names[0], others=" ".join(names[1:]), switch=_SWITCH)
    return make_kit("switch", "", script)


def add_venv(demand: ToolDemand, found: Sequence[str]) -> list[str]:
    """Return where a folder's programs lie: its virtual environment, once there is one, first.

    That has the folder's own Python, and what was installed for it.
    """
    venv = [f"{place_venv(demand.folder)}/bin"] if demand.tool == "python" and found else []
    return [*venv, *found]


def name_folders(folders: Mapping[str, Sequence[str]]) -> str:
    """Return the variable's text; a folder whose name cannot stand in it is left out."""
    lines = (
        f"{folder}:{path}"
        for folder, paths in [*folders.items()][:_MOST_FOLDERS]
        for path in paths
        if _NAME.fullmatch(folder)
    )
    return "\n".join(lines)
