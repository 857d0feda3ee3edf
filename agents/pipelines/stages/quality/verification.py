"""The results of checking a change to a pull request, in words for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.quality.exit_status import format_by_exit_status
from agents.pipelines.stages.quality.flaky import format_known
from agents.pipelines.stages.quality.results import CheckComparison, CheckResult, OwnSetup
from agents.pipelines.stages.quality.run import tally, to_code
from agents.ports import RunImage, SetupProposal, SetupResult
from agents.requests import Frozen
from agents.text import code_span, one_line, publish

if TYPE_CHECKING:  # it holds what the checks say, so it imports this package
    from agents.pipelines.stages.push_update import PushResult

_WORSE = "These checks of the repository fail now that passed before: {checks}."
_MORE = "These checks failed before and fail in more places now: {checks}."
_LOOSENED = (
    "The changes take something away from the repository's tests or checks, and nobody has agreed"
    " to that."
)
_PUSHING = "Others kept pushing to the branch while Fettle checked its work on top of theirs."
_UNTOLD = (
    "**Not verified:** nothing here can tell whether the change makes anything worse. {reasons}."
    " Check that before you merge; `quality` in `.github/fettle.yml` says which commands count."
)


_HELPS = (
    "**Set up by commands that a model proposed:** {commands}. They were tried because the set-up"
    " that Fettle found left a check unable to run: {reason}. `setup.run` in `.github/fettle.yml`"
    " makes them the repository's own, or other ones."
)
_HELPED = (
    "**Set up by commands that a model proposed in an earlier run:** {commands}. They are used"
    " because the set-up that Fettle found left a check unable to run: {reason}. `setup.run` in"
    " `.github/fettle.yml` makes them the repository's own, or other ones."
)
_NO_HELP = (
    "A check cannot run with the set-up that Fettle found: {reason}. A model was asked for other"
    " commands, and that did not help: {fault} (it proposed {commands}). `setup.run` in"
    " `.github/fettle.yml` can name the right ones."
)
_IN_IMAGE = (
    "Set-up, checks and the model's commands ran in the image `{image}` (its id is `{id}`), which"
    " `{file}` names."
)
_LEFT_OUT = " Nothing else of that file is followed: {keys} had no effect."
_NOT_IN_IMAGE = (
    "The image `{image}`, which `{file}` names, was not used: {why}. Commands ran with what"
    " Fettle's machine has."
)
_NO_IMAGE = "`{file}` was not followed: {why}. Commands ran with what Fettle's machine has."
_OWN = (
    "The change touches {files}, so its checks ran with what its own files ask to have installed."
)
_SET_UP = " A model proposed the commands of the set-up."
COMMAND, REASON = 120, 300  # characters of a command and of a reason
FILES = 5
WHY = 500  # and of why an image is not used


class VerifiedChange(Frozen):
    """All that we measured of the change, none of it in the model's words."""

    quality: CheckComparison
    inspection: Inspection = Inspection()

    @property
    def acceptable(self) -> bool:
        """Return whether nothing speaks against it, as far as anything could be told."""
        return not self.quality.failing and self.inspection.accepted

    @property
    def ready(self) -> bool:
        """Return whether it is known to be no worse than what was there before."""
        return self.quality.verdict == "no worse" and self.inspection.accepted

    def with_landing(self, landing: PushResult) -> VerifiedChange:
        """Return the change with what the checks say on top of what others pushed meanwhile."""
        return self.model_copy(update={"quality": landing.quality or self.quality})

    def why_not(self, landing: PushResult | None = None) -> str:
        """Return why it is not pushed, for people."""
        if landing is not None and landing.why_not:
            return landing.why_not
        if self.quality.failing:
            return _worse(self.quality)
        return _PUSHING if self.inspection.accepted else _LOOSENED


def checks_table(quality: CheckComparison, *, other: str = "") -> str:
    """Return the repository's own checks, before and after, as Markdown that is safe to publish.

    `other`: what to call the other branch of a merge.
    """
    setup = format_setup_remarks(quality.baseline.setup)
    if not quality.runs:
        return "\n\n".join(part for part in (format_untold(quality), setup) if part)
    others = quality.baseline.other if other else ()
    heads = ("Check", "Before", *((other,) if others else ()), "After")
    rows = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for number, (before, after) in enumerate(quality.compared):
        runs = (before, *((others[number],) if others else ()), after)
        rows.append(f"| {to_code(after.name)} | {' | '.join(map(_format_ending, runs))} |")
    own = format_own_setup(quality.own_setup)
    unseen = "" if quality.unseen.alone else _format_unseen(quality)
    status = format_by_exit_status(quality)
    parts = (
        "\n".join(rows),
        format_known(quality),
        status,
        format_untold(quality),
        unseen,
        own,
        setup,
    )
    return "\n\n".join(part for part in parts if part)


def _format_unseen(quality: CheckComparison) -> str:
    said = quality.unseen.describe()
    return f"{said[:1].upper()}{said[1:]}: that is for you to look at." if said else ""


def format_own_setup(own: OwnSetup) -> str:
    """Return which files of the change its checks were set up by, as Markdown; else nothing."""
    files = ", ".join(code_span(one_line(path, COMMAND)) for path in own.files[:FILES])
    return _OWN.format(files=files) if own.commit and files else ""


def format_setup_remarks(setup: SetupResult) -> str:
    """Return what is remarkable about a set-up, as Markdown; empty where nothing is."""
    parts = (format_image(setup.image), _format_proposal(setup.proposal))
    return "\n\n".join(part for part in parts if part)


def format_image(image: RunImage | None) -> str:
    """Return which image commands ran in, or why not in the one that the repository names."""
    if image is None:
        return ""
    left_out = ", ".join(code_span(key) for key in image.left_out)
    said = {"image": image.image, "file": image.named_by, "id": image.id[:12]}
    why = publish(one_line(image.why_not, WHY)).rstrip(".")
    if image.id:
        more = _LEFT_OUT.format(file=image.named_by, keys=left_out) if left_out else ""
        return _IN_IMAGE.format(**said) + more
    return (_NOT_IN_IMAGE if image.image else _NO_IMAGE).format(**said, why=why)


def _format_proposal(proposal: SetupProposal | None) -> str:
    if proposal is None:
        return ""
    commands = ", ".join(code_span(one_line(each, COMMAND)) for each in proposal.commands)
    said = {
        "reason": publish(one_line(proposal.reason, REASON)).rstrip("."),
        "fault": publish(one_line(proposal.fault, REASON)).rstrip("."),
        "commands": commands or "nothing",
    }
    if not proposal.holds:
        return _NO_HELP.format_map(said)
    return (_HELPS if proposal.asked else _HELPED).format_map(said)


def format_untold(quality: CheckComparison) -> str:
    """Return what could not be told, as a paragraph of Markdown; empty where all could."""
    reasons = "; ".join(quality.untold)
    return _UNTOLD.format(reasons=reasons[:1].upper() + reasons[1:]) if reasons else ""


def headline(quality: CheckComparison) -> str:
    """Return in a sentence what was run and what came of it, for comments and the terminal."""
    proposal = quality.baseline.setup.proposal
    said = _SET_UP if proposal is not None and proposal.holds else ""
    lost = "".join(f" {publish(each.text)}." for each in quality.lost)
    return f"{_sum_up(quality)}{lost}{said}"


def _sum_up(quality: CheckComparison) -> str:
    if quality.failing:
        return f"Worse than before: {_names(quality.failing)}."
    passed = _names([r for r in quality.runs if not r.failed and r.verdict != "unknown"])
    red = _names([run for run in quality.runs if run.failed])
    if quality.untold:
        besides = f" Besides, {passed} passed." if passed else ""
        return f"Not verified: {'; '.join(quality.untold)}.{besides}"
    said = (f"{passed} passed" if passed else "", f"{red} failed as before" if red else "")
    besides = f" Besides, {seen}." if (seen := quality.unseen.describe()) else ""
    return f"Checked: {', '.join(each for each in said if each)}.{besides}"


def _names(runs: Sequence[CheckResult]) -> str:
    return ", ".join(to_code(run.name) for run in runs)


def _worse(quality: CheckComparison) -> str:
    passed = [to_code(e.name) for e in quality.failing if not quality.red_before(e)]
    red = [f"{to_code(e.name)} ({tally(e)})" for e in quality.failing if quality.red_before(e)]
    said = ((_WORSE, passed), (_MORE, red))
    return " ".join(text.format(checks=", ".join(checks)) for text, checks in said if checks)


def _format_ending(run: CheckResult) -> str:
    return f"failed ({tally(run) or f'exit {run.exit_code}'})" if run.failed else "passed"
