"""The image that a repository wants its commands run in, as its default branch names it."""

from __future__ import annotations

from agents.analysis.devcontainer import DEVCONTAINERS, Devcontainer, read_devcontainer
from agents.policy import POLICY_PATH, Policy
from agents.policy.images import parse_image
from agents.ports import RunImage, RunRepository
from agents.text.child_process import Exhausted, run_in_child

_READ = 64_000  # bytes; a longer file is not read, whatever it says
_TOO_LONG = Devcontainer(fault="it cannot be read: that takes too long")
_NO_REFERENCE = "what it names as its `image` is none, as in `ghcr.io/owner/name:tag`"


async def find_image(source: RunRepository, trunk: str, policy: Policy) -> RunImage | None:
    """Return the image that the commit names, and whether the run's commands run in it.

    None where it names none. The policy comes before a devcontainer.
    """
    if policy.environment.image is not None:
        wanted = RunImage(image=str(parse_image(policy.environment.image)), named_by=POLICY_PATH)
        return await source.find_image(wanted)
    if not policy.environment.devcontainer:
        return None
    for path in DEVCONTAINERS:
        data = await source.show(trunk, path)
        if data is not None:
            wanted = await _read_wish(path, data)
            return wanted if wanted.why_not else await source.find_image(wanted)
    return None


async def _read_wish(path: str, data: bytes) -> RunImage:
    text = data[:_READ].decode("utf-8", "replace")
    try:
        said = await run_in_child(text, read_devcontainer, text)
    except Exhausted:
        said = _TOO_LONG
    if said.fault:
        return RunImage(named_by=path, why_not=said.fault, left_out=said.left_out)
    try:
        image = str(parse_image(said.image))
    except ValueError:
        return RunImage(named_by=path, why_not=_NO_REFERENCE, left_out=said.left_out)
    return RunImage(image=image, named_by=path, left_out=said.left_out)
