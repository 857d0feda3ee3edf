"""Stage prove: show by a test that the bug exists without the change and not with it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from agents.analysis.service_start import wrap_with_services
from agents.analysis.services import Service
from agents.analysis.weakening import FileDiff, list_suites
from agents.analysis.which_are_tests import is_test
from agents.errors import ToolError
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.stages.implement import StepResult
from agents.pipelines.stages.proof_run import (
    Trial,
    as_check,
    runs_no_test,
    says_too_little,
    without_tests,
)
from agents.pipelines.stages.quality import CheckResult
from agents.pipelines.stages.quality.changed_tests import ChangedTests, read_changed_tests
from agents.pipelines.stages.quality.find import find_running_services
from agents.pipelines.stages.quality.own_setup import set_up_change
from agents.pipelines.stages.regression_proof_text import proof_section, tests_section
from agents.ports import CommandResult, WorkTree
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import one_line
from agents.tools.base import Bench
from agents.tools.gate import gate

COMMANDS = 5  # of the engineers, the newest first
TIMEOUT = 600.0  # seconds for each run
OUTPUT = 200_000  # bytes that are looked at
SUMMARY = 120

NO_TEST = "no test was added or changed"
NEWLY = "its tests pass without the change, and fail with it (exit code {code})"
NO_COMMAND = "whoever made the change gave no command that runs its tests"
INSIDE = (
    "the tests stand in the source files ({files}), so they cannot be run without the change that"
    " is made in the same files"
)


class RegressionProof(Frozen):
    """Whether a test shows the bug, as our own process found it."""

    commit: str = ""
    """The commit with the change that was looked at."""
    kind: str = ""
    """What the issue is about; empty in records of old versions."""
    wanted: bool = False
    """Whether there is a bug to be shown."""
    shown: bool = False
    command: str = ""
    tests: tuple[str, ...] = ()
    """The changed test files."""
    base: CheckResult | None = None
    """The command on the files from before the change, with the tests of the change."""
    head: CheckResult | None = None
    why: str = ""
    """Why nothing shows it, what weakens what does, or why tests that passed say nothing."""
    mendable: bool = False
    """Whether an engineer could still show it."""
    fails: bool | None = None
    """Whether tests fail with the change, and not just their command; None: by its exit code."""

    @property
    def failing(self) -> bool:
        """Return whether the tests of the change fail with the change."""
        if self.fails is not None:
            return self.fails
        return self.head is not None and bool(self.head.exit_code)

    @property
    def missing(self) -> bool:
        """Return whether a bug is there to be shown, and nothing shows it."""
        return self.wanted and not self.shown

    @property
    def untold(self) -> bool:
        """Return whether the tests of the change, which mends no bug, came to say nothing."""
        says_nothing = self.head is not None and bool(self.head.exit_code or self.why)
        return says_nothing and not (self.wanted or self.failing)

    @property
    def section(self) -> str:
        """Return the proof for the pull request's body, safe to publish; empty without one."""
        if not self.wanted:
            return tests_section(self.kind, self.head, self.why) if self.kind else ""
        return proof_section(self.command, self.base, self.head, shown=self.shown, why=self.why)


class BugShown(Submission, tool="submit_proof"):
    """Deliver the test that shows the bug."""

    summary: str
    """What the test does, or why no test can show the bug."""
    proof: str = Field(max_length=500)
    """A command that runs just these tests."""


PROVE_AGAIN = Conversation(
    name="prove_again",
    prompt=prompt_path(__file__, "prove_again.md"),
    output=BugShown,
    capability=Capability.CHANGE,
    resumes="implement",
)


@stage
async def prove(run: StageContext, kind: str, made: Sequence[StepResult]) -> RegressionProof:
    """Run the new tests without the change and with it."""
    proof = RegressionProof(commit=run.head, kind=kind, wanted=kind == "bug")
    if not proof.wanted:
        proof = await _run_tests(run, proof, made)
        run.summarize("the tests of the change fail" if proof.failing else "no bug to show")
        return proof
    proof = await _proof(run, proof, made)
    said = "shown by a test" if proof.shown else f"not shown: {proof.why}"
    run.summarize(one_line(said, SUMMARY))
    return proof


@stage
async def prove_again(run: StageContext, proof: RegressionProof) -> StepResult:
    """Have a test made that shows the bug."""
    done = await run.converse(
        PROVE_AGAIN, why=run.fence(proof.why), tried=_describe_attempt(run, proof)
    )
    title = "Add a test that shows the bug"
    commit = await run.commit(title, done.summary)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return StepResult(
        title=title, summary=done.summary, tried=done.proof, proof=done.proof, commit=commit
    )


async def _run_tests(
    run: StageContext, proof: RegressionProof, made: Sequence[StepResult]
) -> RegressionProof:
    """Return the proof of a change that mends no bug: its own tests have to pass with it."""
    tree = await run.tree()
    changed = await tree.list_changed_paths(run.base, run.head)
    tests = tuple(path for path in changed if is_test(path))
    command = next((each.proof.strip() for each in reversed(made) if each.proof.strip()), "")
    if not (tests and command) or await _find_command_objection(run, command):
        return proof
    services, _ = await find_running_services(run)
    tree = await _open_head(run)
    after = Trial(command, await _run(tree, command, services))
    head = as_check(after.result, command, TIMEOUT)
    why = "" if after.result.exit_code else says_too_little(after)
    found = {"command": command, "tests": tests, "head": head, "fails": after.tests_fail}
    return proof.model_copy(update={**found, "why": why})


def _describe_attempt(run: StageContext, proof: RegressionProof) -> str:
    """Return what was run, for whoever is to do better."""
    runs = (("Without the change", proof.base), ("With the change", proof.head))
    parts = [
        f"{when}, this command ended with exit code {check.exit_code}:\n\n"
        + run.fence(f"{check.command}\n\n{check.output}")
        for when, check in runs
        if check is not None
    ]
    return "\n\n".join(parts)


async def _proof(
    run: StageContext, proof: RegressionProof, made: Sequence[StepResult]
) -> RegressionProof:
    tests = await read_changed_tests(await run.tree(), run.base, run.head)
    if not tests.paths:
        return _explain_missing_test(proof, tests.changes)
    proof = proof.model_copy(update={"tests": tests.paths, "mendable": True})
    commands = list(dict.fromkeys(each.proof.strip() for each in reversed(made)))
    commands = [command for command in commands if command][:COMMANDS]
    best = proof.model_copy(update={"why": NO_COMMAND})
    services, _ = await find_running_services(run) if commands else ((), ())
    for number, command in enumerate(commands):
        tried = await _try(run, proof, tests, services, command)
        if tried.shown:
            return tried
        # The newest command says most, unless tests of another one fail.
        best = tried if not number or (tried.failing and not best.failing) else best
    return best


async def _try(
    run: StageContext,
    proof: RegressionProof,
    tests: ChangedTests,
    services: Sequence[Service],
    command: str,
) -> RegressionProof:
    """Return the proof with this command: before, which has to fail, and after, which must not.

    Tests that fail with the change are held against it, whatever they did before.
    """
    refused = await _find_command_objection(run, command)
    if refused:
        why = f"the command for it, `{command}`, was not run: {refused}"
        return proof.model_copy(update={"command": command, "why": why})
    tree = await run.tree(run.base, changing=True, pristine=True)
    try:
        await tests.lay(tree)
    except ToolError as error:
        why = f"the tests could not be put onto the files from before the change: {error}"
        return proof.model_copy(update={"command": command, "why": why})
    before = Trial(command, await _run(tree, command, services))
    proof = proof.model_copy(
        update={"command": command, "base": as_check(before.result, command, TIMEOUT)}
    )
    tree = await _open_head(run)
    after = Trial(command, await _run(tree, command, services))
    vain = without_tests(before, tests.names)
    fault = says_too_little(after)
    fails = after.tests_fail and not without_tests(after, tests.names)
    if after.tests_fail and not before.result.exit_code:
        fails, vain, fault = True, "", NEWLY.format(code=after.result.exit_code)
    return proof.model_copy(
        update={
            "head": as_check(after.result, command, TIMEOUT),
            "fails": fails,
            "shown": not (vain or fault),
            "mendable": bool(vain or fault),
            "why": (vain or fault) or before.weakness,
        }
    )


async def _open_head(run: StageContext) -> WorkTree:
    """Return the files with the change, and the dependencies that they ask for."""
    own = await set_up_change(run, run.head)
    return await run.tree(run.head, changing=True, pristine=True, set_up_for=own.commit)


async def _run(tree: WorkTree, command: str, services: Sequence[Service]) -> CommandResult:
    argv = wrap_with_services(["bash", "-c", "--", command], services)
    return await tree.run(argv, timeout=TIMEOUT, max_output=OUTPUT)


async def _find_command_objection(run: StageContext, command: str) -> str:
    """Return why the command shows nothing, or may not run by itself; nothing if it may."""
    if fault := runs_no_test(command):
        return fault
    bench = Bench(
        tree=await run.tree(),
        capability=Capability.CHANGE,
        policy=await run.policy(),
        stage=run.current.partition("/")[0],
        head=run.head,
        tainted=run.standing.tainted,
    )
    try:
        verdict = await gate.judge_in_child(
            "bash", {"command": command, "timeout": TIMEOUT}, bench=bench
        )
    except ToolError as error:
        return str(error)
    if verdict.decision == "allow":
        return ""
    return verdict.reason or f"the rule {verdict.rule} is against it"


def _explain_missing_test(proof: RegressionProof, changes: Sequence[FileDiff]) -> RegressionProof:
    """Return the proof of a change without a changed test file."""
    inside = [path for path in _with_new_tests(changes) if not is_test(path)]
    if inside:
        files = ", ".join(f"`{path}`" for path in inside[:3])
        return proof.model_copy(update={"why": INSIDE.format(files=files)})
    return proof.model_copy(update={"why": NO_TEST, "mendable": True})


def _with_new_tests(changes: Sequence[FileDiff]) -> list[str]:
    inline = [change for change in changes if change.language == "rust" and change.new]
    return [
        suite.change.path
        for suite in list_suites(inline)
        if {c.name for c in suite.after if c.line} - {c.name for c in suite.before if c.line}
    ]
