"""Pip's indexes, asked of pip itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add, plain_hosts
from app.dependencies.indexes.result import Configured

_LINE = re.compile(r"^(?P<section>[a-z]+|:env:)\.(?P<key>[a-z-]+)=(?P<value>.*)$")
_DEFAULT = re.compile(r"--index-url <url>.*?\(default\s+(https?://[^\s)]+)\)", re.DOTALL)
_UV_DEFAULT = re.compile(r"--default-index <.*?by\s+default:\s+<(https?://[^\s>]+)>", re.DOTALL)

_OF_PIP = re.compile(
    r"(?:#.*|import (?:re|sys)|from pip\._internal\.cli\.main import main|if .*:"
    r"|sys\.argv\[0\] = .*|sys\.exit\(main\(\)\)|)"
)
_PYTHON = re.compile(r"#!\s*(/\S*/python[\d.]*)")
_TELL = """\
import sys
sys.path[:] = filter(None, sys.path)  # nothing from where it happens to run
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
found = Configuration(isolated=False)
found.load()
for key, value in found.items():
    for name, text in value.items() if isinstance(value, dict) else [(key, value)]:
        print(f"{name}={text!r}")
print(f"born:{PyPI.simple_url}")
"""
"""What `pip config list` prints, and the default index: loading all of pip to print it takes five
times as long."""
_BORN = re.compile(r"^born:(https?://\S+)$", re.MULTILINE)

_PASSED_ON = ("no-index", "default-timeout", "timeout", "retries", "prefer-binary", "only-binary")
_UNUSED = ("proxy", "client-cert", "keyring-provider")
_YES = frozenset({"1", "true", "yes", "on", "y", "t"})


async def pip_indexes(operator: Operator) -> Configured:
    """Return the indexes that pip is configured for, or its default.

    https://pip.pypa.io/en/stable/topics/configuration/
    """
    made = Configured("pip")
    options = await pip_options(operator)
    urls, extra = [options.get("index-url", "")], options.get("extra-index-url", "").split()
    if options.get("no-index", "").lower() in _YES:
        urls, extra = [], []
    elif not urls[0]:
        urls = [await default_index(operator) or ""]
    if urls == [""]:
        made.notes.append(
            "Neither pip nor uv can be asked for its index here. Install one of them beside "
            "Fettle, or set PIP_INDEX_URL in its environment."
        )
    listed = {
        "PIP_INDEX_URL": add(made, operator, urls, "simple"),
        "PIP_EXTRA_INDEX_URL": add(made, operator, extra, "simple"),
        "PIP_FIND_LINKS": add(made, operator, options.get("find-links", "").split(), "links"),
    }
    listed["PIP_TRUSTED_HOST"] = [*options.get("trusted-host", "").split(), *plain_hosts(made)]
    made.environment = {name: " ".join(values) for name, values in listed.items() if values}
    made.environment |= _option_variables(options)
    if urls and listed["PIP_INDEX_URL"]:
        names = ("PDM_PYPI_URL", "PIPENV_PYPI_MIRROR")
        made.environment |= dict.fromkeys(names, listed["PIP_INDEX_URL"][0])
    if options.get("cert"):
        made.certificates.append(options["cert"])
    unused = [f"pip's option `{key}` is not used in set-ups." for key in _UNUSED if key in options]
    made.notes += unused
    return made


async def pip_options(operator: Operator) -> dict[str, str]:
    """Return the options of `pip install` that its variables and files set."""
    printed = await _ask_code(operator) or await _ask_pip(operator, "config", "list")
    if printed is None:
        names = [name for name in operator.environ if name.startswith("PIP_")]
        return {name[4:].lower().replace("_", "-"): operator.environ[name] for name in names}
    found = [match for match in map(_LINE.match, printed.splitlines()) if match]
    options: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        options |= {m["key"]: _value(m["value"]) for m in found if m["section"] == section}
    return options


async def default_index(operator: Operator) -> str | None:
    """Return the default index of Python's tools, which only the tools themselves know."""
    found = _BORN.search(await _ask_code(operator))
    if not found:
        printed = await _ask_pip(operator, "--isolated", "install", "--help")
        found = _DEFAULT.search(printed or "")
    if not found:
        found = _UV_DEFAULT.search(await operator.ask("uv", "help", "pip", "install") or "")
    return found[1] if found else None


async def _ask_code(operator: Operator) -> str:
    """Return what pip's own code tells; empty where pip has to be asked.

    That is where `pip` is something else than the few lines with which pip starts itself.
    """
    names = filter(None, map(operator.find_program, ("pip", "pip3")))
    python = _find_python(Path(next(names, "")))
    return (await operator.ask(python, "-c", _TELL) or "") if python else ""


def _find_python(script: Path) -> str:
    """Return the Python that a script of pip's own names; empty: it is none."""
    try:
        lines = script.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    named = _PYTHON.fullmatch(lines[0]) if lines else None
    return named[1] if named and all(_OF_PIP.fullmatch(line.strip()) for line in lines) else ""


async def _ask_pip(operator: Operator, *arguments: str) -> str | None:
    for program in ("pip", "pip3"):
        printed = await operator.ask(program, *arguments)
        if printed is not None:
            return printed
    return None


def _option_variables(options: dict[str, str]) -> dict[str, str]:
    passed = {f"PIP_{k.upper().replace('-', '_')}": options[k] for k in _PASSED_ON if k in options}
    return {**passed, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _value(text: str) -> str:
    """Return what pip printed as Python text."""
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return text


async def unconfigured_index(operator: Operator) -> Configured:
    """Return the index of tools that only a repository configures, such as poetry."""
    made = Configured("poetry")
    add(made, operator, [await default_index(operator) or ""], "simple")
    return made
