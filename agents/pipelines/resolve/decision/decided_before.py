"""Earlier decisions of the project, from the decision log on its default branch."""

from __future__ import annotations

from agents.errors import PolicyInvalid
from agents.pipelines.resolve.decision.log import ADR_DIR, find_log, list_records
from agents.run import StageContext
from agents.text import clean_in_child, one_line

LIMIT = 8_000  # characters of a log in one file: its newest ones, wherever they stand
READ = 4 * LIMIT  # of each end, before what is hidden in it goes
NAMED = 40  # records that are named, the newest first
_FILE = "What the project has decided before, from `{file}` of its default branch:\n\n{text}"
_FOLDER = """What the project has decided before is recorded in `{folder}` of its default branch. \
Read what bears on the issue. The records, the newest first:

{names}"""
_CUT = "\n[cut here: read the file itself for the rest]\n"


async def decided_before(run: StageContext) -> str:
    """Return what was decided before for a prompt, bounded; empty where nothing is recorded."""
    paths = await run.ports.source.files(run.trunk)
    wanted = (await run.policy()).decisions.path
    if not wanted and ADR_DIR in paths:
        wanted = (await _text(run, ADR_DIR)).strip()
    try:
        log = find_log(paths, wanted)
    except PolicyInvalid:  # said where a decision is to be recorded
        return ""
    if log.file:
        text = await _text(run, log.file) if log.existing else ""
        return _FILE.format(file=log.file, text=_shorten(text)) if text else ""
    names = [f"- {one_line(name, 100)}" for name in list_records(log, paths)[:NAMED]]
    return _FOLDER.format(folder=log.folder, names="\n".join(names)) if names else ""


def _shorten(text: str) -> str:
    """Return head and tail: some logs grow at their top, others at their end."""
    half = LIMIT // 2
    return text if len(text) <= LIMIT else f"{text[:half]}{_CUT}{text[-half:]}"


async def _text(run: StageContext, path: str) -> str:
    data = await run.ports.source.show(run.trunk, path)
    text = (data or b"").decode("utf-8", "replace")
    ends = text if len(text) <= 2 * READ else f"{text[:READ]}{_CUT}{text[-READ:]}"
    return (await clean_in_child(ends)).text.strip()
