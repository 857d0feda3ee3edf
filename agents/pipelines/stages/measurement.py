"""What was measured of a change before it is judged: its tests, and the repository's checks."""

from __future__ import annotations

from collections.abc import Iterator

from agents.pipelines.stages.implement import StepResult
from agents.pipelines.stages.quality import CheckComparison, CheckResult, format_output
from agents.pipelines.stages.regression_proof import RegressionProof
from agents.requests import Frozen
from agents.run import StageContext
from agents.text import one_line

COMMAND = 300
OUTPUT_LIMIT = 4_000  # characters of each check that is worse
LIMIT = 12_000  # and of all that is told

_TOLD = """Fettle ran this on the very change that you judge, in the same sandbox. It needs no \
second run; what it cannot show is yours to find out:

{measured}"""


class Measurement(Frozen):
    """What our own process ran on one commit of the change."""

    quality: CheckComparison
    proof: RegressionProof = RegressionProof()
    """Without a commit where no test was looked for."""
    made: tuple[StepResult, ...] = ()
    """What was done until then, in the words of whoever did it."""

    @property
    def commit(self) -> str:
        """Return the commit that all of it was run on; empty where they were different ones."""
        same = self.proof.commit in ("", self.quality.commit)
        return self.quality.commit if same else ""


def describe_measurement(run: StageContext, measured: Measurement) -> str:
    """Return the measurement for a judge's prompt, fenced as untrusted text."""
    quality = measured.quality
    lines = [_describe_check(*each) for each in quality.compared]
    lines += [f"could not be told: {reason}" for reason in quality.untold]
    lines += _describe_proof(measured.proof)
    listed = "\n".join(f"- {line}" for line in lines)
    outputs = [
        f"{check.command}\n{format_output(check)[-OUTPUT_LIMIT:]}" for check in _bad(measured)
    ]
    return _TOLD.format(measured=run.fence("\n\n".join([listed, *outputs]), limit=LIMIT))


def _describe_check(before: CheckResult, after: CheckResult) -> str:
    ended = " and ".join(
        f"{'passed' if not check.failed else f'failed (exit code {check.exit_code})'} {when}"
        for check, when in ((before, "before the change"), (after, "with it"))
    )
    said = f": {after.verdict}" if after.verdict else ""
    return f"{one_line(after.command, COMMAND)} {ended}{said}"


def _describe_proof(proof: RegressionProof) -> Iterator[str]:
    if proof.base is not None or proof.head is not None:
        runs = ((proof.base, "without the change"), (proof.head, "with it"))
        ended = ", ".join(f"exit code {c.exit_code} {when}" for c, when in runs if c is not None)
        yield f"the tests of the change, {one_line(proof.command, COMMAND)}: {ended}"
    if proof.wanted:
        yield "they show the bug" if proof.shown else f"no test shows the bug: {proof.why}"
    elif proof.why:
        yield f"the tests of the change say nothing of it: {proof.why}"


def _bad(measured: Measurement) -> Iterator[CheckResult]:
    yield from measured.quality.failing
    if measured.proof.failing and measured.proof.head is not None:
        yield measured.proof.head
