"""Stage write_proposal: commit the lines and the rules; code alone writes these files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.errors import RunError
from agents.pipelines.guidance.find_lessons import BackedLine, Lessons
from agents.pipelines.guidance.instruction_lines import add_lines, find_file, read_file
from agents.pipelines.guidance.policy_rules import BackedRule, list_rules
from agents.policy import POLICY_PATH, add_to_policy
from agents.ports import GatheredEvidence, GuidanceEvidence
from agents.requests import Frozen
from agents.run import StageContext, secret_check, stage

SUBJECT = "Write down what people said more than once"
_SECRET = "What was to be proposed holds what looks like a secret, so nothing is."  # noqa: S105 - words about one
_OTHERS = "The proposal would have changed {paths} as well."


class Proposal(Frozen):
    """What is proposed, as far as it could be written."""

    file: str = ""
    """The file of instructions; empty: no line is proposed."""
    lines: tuple[BackedLine, ...] = ()
    rules: tuple[BackedRule, ...] = ()

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to propose."""
        return not (self.lines or self.rules)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return what is proposed, so that it can be known again."""
        return (*(each.text for each in self.lines), *(each.line for each in self.rules))

    @property
    def evidence(self) -> tuple[GuidanceEvidence, ...]:
        """Return what people said that it rests on."""
        found = [*(each.evidence for each in self.lines), *(each.evidence for each in self.rules)]
        return tuple(one for each in found for one in each)


@stage
async def write_proposal(
    run: StageContext, gathered: GatheredEvidence, lessons: Lessons
) -> Proposal:
    """Write it down."""
    policy = await run.policy()
    rules = list_rules(gathered.evidence, policy, gathered.declined)
    files: dict[str, bytes] = {}
    lines, path = lessons.lines, await find_file(run)
    text = await read_file(run, path) if lines else None
    if text is None:
        lines, path = (), ""
    else:
        files[path] = add_lines(text, [each.text for each in lines]).encode()
    made = await _write_policy(run, rules)
    if made is None:
        rules = ()
    else:
        files[POLICY_PATH] = made
    if files:
        await commit_files(run, SUBJECT, files)
    proposal = Proposal(file=path, lines=lines, rules=rules)
    run.summarize(f"{len(lines)} lines, {len(rules)} rules")
    return proposal


async def _write_policy(run: StageContext, rules: Sequence[BackedRule]) -> bytes | None:
    """Return the policy file with the rules; None where there are none, or it cannot be done."""
    if not rules:
        return None
    denied = [rule for each in rules if (rule := each.rule) is not None]
    data = await run.ports.source.show(run.trunk, POLICY_PATH) or b""
    return add_to_policy(data, denied, refuse_dependencies=len(denied) < len(rules))


async def commit_files(run: StageContext, subject: str, files: Mapping[str, bytes]) -> None:
    """Commit these files and nothing else. Raises RunError."""
    await run.tree(pristine=True)
    await run.write(files)
    tree, made = await run.tree(run.left), run.left
    if others := set(await tree.list_changed_paths(run.head, made)) - files.keys():
        raise RunError(_OTHERS.format(paths=", ".join(f"`{path}`" for path in sorted(others))))
    if await secret_check.list_secrets(tree, run.head, made):
        raise RunError(_SECRET)
    subject = await run.format_subject(subject)
    commit = await tree.commit(
        made,
        run.head,
        run.message(subject, ""),
        permitted=dict.fromkeys(files, made),
        proposes_policy=True,
    )
    run.update_state(head=commit)
    run.let_go()
