"""A change's own set-up, where it touches what decides which dependencies are installed.

What the run stands on was set up before the change. Checks that run with that say nothing of a
dependency that the change adds, moves or takes away, nor of sources that have to be compiled.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Collection, Iterable, Sequence

from agents.analysis.declared_packages import list_new_packages
from agents.analysis.known_packages import list_known_paths, read_known_packages
from agents.analysis.languages import InstallPlan, list_read_paths
from agents.analysis.needed_setup import plan_setup
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.toolchains import list_version_files
from agents.analysis.toolchains.version_files import READERS as VERSION_FILES
from agents.errors import ToolError
from agents.pipelines.stages.quality.results import OwnSetup
from agents.run import StageContext
from agents.text import code_span, one_line

_OWN_PLUGIN = re.compile(r"/src/main/(?:kotlin|groovy)/(?:.*/)?([\w.-]+)\.gradle(?:\.kts)?$")
_COMPILED = re.compile(
    r".+\.(?:c|cc|cpp|cxx|h|hh|hpp|m|mm|pyx|pxd|pxi|rs|go|f|f90|cu|S|asm|y|l|cmake|in)"
    r"|(?:.*/)?(?:CMakeLists\.txt|meson\.build|build\.rs|[Mm]akefile)"
)
_LOCK = re.compile(r"lock|shrinkwrap|go\.sum")
_SHOWN, _NAME, _REASON, _MOST = 5, 60, 200, 40
_REFUSED = (
    "the change names {packages} anew, and the repository's policy wants no new dependency asked"
    " for (`approvals.dependencies`), so it was not installed and nothing ran with it"
)
_NOT_AGREED = (
    "the change names {packages} anew, and nothing ran with that, because {why}: somebody with"
    " write access has to say yes before it is installed"
)
WHAT, RULE = "install what the change names", "dependency/new"
REASON = (
    "The change names packages that the repository did not name before. With a yes they are"
    " installed for this run by the repository's own tools, which read from package indexes alone,"
    " and the checks run with them. With a no the pull request is a draft that says so."
)


async def set_up_change(run: StageContext, commit: str) -> OwnSetup:
    """Set up what a commit of the run asks for, where that is something else than before it.

    The commands are those of any set-up: Fettle's or the policy's own, with a way to package
    indexes alone. New packages take a person's yes, as they do where a model installs them.
    """
    tree = await run.tree()
    changed = await tree.list_changed_paths(run.foundation, commit)
    if not changed:
        return OwnSetup()
    before, after = [await _plan(run, each) for each in (run.foundation, commit)]
    files = await _list_decisive(run, changed, before, after)
    if not files and _list_commands(before) == _list_commands(after):
        return OwnSetup()
    if why := await _find_objection(run, commit, files):
        return OwnSetup(files=files, why_not=why)
    return OwnSetup(files=files, commit=commit, result=await run.install(commit))


async def _list_decisive(
    run: StageContext, changed: Sequence[str], before: InstallPlan, after: InstallPlan
) -> tuple[str, ...]:
    """Return the changed files that decide what is installed, before the change or with it."""
    named = {path for plan in (before, after) for way in plan.ways for path in way.decided_by}
    named |= {*list_version_files(changed)}
    decisive = tuple(path for path in changed if path in named)
    sources = tuple(path for path in changed if _COMPILED.fullmatch(path))
    if decisive or not (sources and before.recipes):
        return decisive
    return sources if (await run.install()).compiled else ()


def _list_commands(plan: InstallPlan) -> list[tuple[str, ...]]:
    return [way.commands for way in plan.ways]


async def _plan(run: StageContext, commit: str) -> InstallPlan:
    paths = frozenset(await run.ports.source.files(commit))
    read = await asyncio.to_thread(list_read_paths, paths)
    files = RepositoryFiles(paths, await run.read_texts(commit, read))
    return await asyncio.to_thread(plan_setup, files, await run.policy())


async def _find_objection(run: StageContext, commit: str, decisive: Sequence[str]) -> str:
    """Return why the change's dependencies are not installed; nothing where they are."""
    new = await _find_new_packages(run, commit, decisive)
    if not new:
        return ""
    shown = ", ".join(code_span(one_line(name, _NAME)) for name in new[:_SHOWN])
    if (await run.policy()).approvals.dependencies == "refuse":
        return _REFUSED.format(packages=shown)
    agreed = " ".join(await (await run.tree()).list_install_commands()).casefold()
    granted = [each.partition(":")[2] for each in run.grant.packages] if run.grant else []
    said = {name: "approved" for name in new if name in granted or _is_named(name, agreed)}
    said |= {name: word for name, word in run.standing.packages.items() if name in new}
    if asked := [name for name in new if name not in said]:
        word = await _ask_people(run, asked, decisive)
        said |= dict.fromkeys(asked, word)
        run.update_state(packages={**run.standing.packages, **said})
    why = next((word for word in said.values() if word != "approved"), "")
    return _NOT_AGREED.format(packages=shown, why=why) if why else ""


async def _ask_people(run: StageContext, new: Sequence[str], decisive: Sequence[str]) -> str:
    """Return `approved`, or why that is not what people said."""
    if run.ports.approvals is None:
        return "nobody could be asked"
    part = hashlib.sha256(" ".join(new).encode()).hexdigest()[:12]
    question = {"install": list(new), "named in": list(decisive)}
    try:
        said = await run.consent(WHAT, question, rule=RULE, reason=REASON, part=part)
    except ToolError as error:
        return code_span(one_line(str(error), _REASON))
    if said.state == "approved":
        return said.state
    return f"{said.decided_by} said no" if said.state == "denied" else "the answer is void"


def _names_none(path: str) -> bool:
    return bool(_COMPILED.fullmatch(path)) or path.rpartition("/")[2] in VERSION_FILES


def _is_named(name: str, agreed: str) -> bool:
    return re.search(rf"(?<![\w.@/-]){re.escape(name.casefold())}(?![\w./-])", agreed) is not None


async def _find_new_packages(
    run: StageContext, commit: str, decisive: Collection[str]
) -> list[str]:
    """Return the packages that manifests name since the change.

    Of a manifest that nobody here reads as its tool does, each word counts that is new in it and
    may name a package.
    """
    source, known = run.ports.source, [await run.find_known_packages()]
    manifests = [path for path in decisive if not _LOCK.search(path)] or decisive
    for at in (run.foundation, commit):
        paths = list_known_paths(await source.files(at))
        read = [path for path in paths if at != commit or path in manifests]
        texts = await run.read_texts(at, read)
        known.append(await asyncio.to_thread(read_known_packages, at, texts))
    *before, after = known
    new = [name for tool, name in sorted(after.names)
           if not any(each.holds(tool, name) for each in before)]  # fmt: skip
    plain = {*list_known_paths(decisive)}
    unread = [path for path in manifests if path not in plain and not _names_none(path)]
    there = await source.files(run.foundation)
    for path in unread:
        name = path.rpartition("/")[2]
        alike = [each for each in there if each.rpartition("/")[2] == name and each != path]
        texts = await run.read_texts(run.foundation, (path, *sorted(alike)[:_MOST]))
        now = await run.read_texts(commit, (path,))
        new += await asyncio.to_thread(list_new_packages, path, [*texts.values()], now[path])
    own = _list_own_plugins(await source.files(commit)) if unread else set()
    return [each for each in dict.fromkeys(new) if each not in own][:_MOST]


def _list_own_plugins(paths: Iterable[str]) -> set[str]:
    """Return the ids of the plugins of Gradle that are scripts of the repository's own builds.

    https://docs.gradle.org/current/userguide/implementing_gradle_plugins_precompiled.html
    """
    return {found[1] for path in paths if (found := _OWN_PLUGIN.search(path))}
