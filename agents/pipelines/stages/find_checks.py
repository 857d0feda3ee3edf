"""The checks of a repository that can run in its sandbox: from its policy, else from its files."""

from __future__ import annotations

from agents.analysis.check_commands import SETTINGS_FILES, SuggestedCheck, detect
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import POLICY_PATH, Check
from agents.ports import WorkTree
from agents.run import StageContext


async def find_checks(run: StageContext) -> tuple[list[Check], tuple[str, ...], str]:
    """Return the checks that can run, the commands of those that cannot, and who named them."""
    policy = await run.policy()
    if policy.quality is not None:
        return list(policy.quality), (), f"`{POLICY_PATH}`"
    tree = await run.tree(run.base)
    chosen: dict[str, Check] = {}
    missing: dict[str, str] = {}
    for candidate in detect(await _files(run)):
        if candidate.subject in chosen:
            continue
        if await _available(tree, candidate):
            chosen[candidate.subject] = candidate.check
        else:
            missing.setdefault(candidate.subject, candidate.check.run)
    return list(chosen.values()), tuple(missing.values()), "found in the repository's files"


async def _files(run: StageContext) -> RepositoryFiles:
    source = run.ports.source
    paths = frozenset(await source.files(run.base))
    texts = {
        path: (await source.show(run.base, path) or b"").decode("utf-8", "replace")
        for path in SETTINGS_FILES
        if path in paths
    }
    return RepositoryFiles(paths, texts)


async def _available(tree: WorkTree, candidate: SuggestedCheck) -> bool:
    result = await tree.run(["bash", "-c", candidate.available], timeout=30, writable=False)
    return result.exit_code == 0
