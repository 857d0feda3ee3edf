"""Stages publish, report_scan, report_failure and the like: one for each way a remediation ends."""

from __future__ import annotations

from agents.pipelines.remediate.commit_text import format_title
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.other_pulls import Others
from agents.pipelines.remediate.release_notes import read_release_notes
from agents.pipelines.remediate.report import (
    comment_body,
    evidence,
    fix_report,
    pull_request_body,
    scan_report,
)
from agents.pipelines.remediate.work import Work, failure_of
from agents.pipelines.stages.pull_template import put_into_template
from agents.pipelines.stages.quality import headline
from agents.ports import OtherPull, PullRequest
from agents.remediation import Result, branch_words, rule_of
from agents.requests import RemediateAlert
from agents.run import Outcome, StageContext, stage
from agents.text import code_span, one_line
from agents.text import publish as safe

KEY = "remediate"
REPLACED = "replaced"

_CLOSED = "All of its alerts were closed while Fettle was at work, so nothing was published."
_MADE = "{subject}: made; nothing was published, as asked. {checked}"
_REPLACED = (
    "#{number} takes the place of this one: it moves everything that this one does, and what"
    " GitHub has reported for the same lock file since. This one is closed; its branch stays."
)
_RENEWED = (
    "Made anew on {branch} as of {commit}, with all that GitHub reports for this lock file by now."
    " The commits before are replaced; nobody but Fettle had pushed any."
)
_INSTEAD = "Made instead of {pulls}."
_MEANWHILE = (
    "{pulls} for the same package came while Fettle was at work, and was not looked at: one of the"
    " two is enough."
)
_UNFOLLOWED = "A draft to go on with: the code does not follow the new version yet."
_NOT_FOLLOWED = "Somebody has to have the code follow: it does not yet."
_LEFT = "An engineer looked for another way and left it: {why}"
_KEPT = "Still needed. {why}"
_VERDICTS = {
    "verify_failed": "Every fix that was made was found wrong: {why}",
    "fix_failed": "No fix was found: {why}",
    "by_hand": "It takes a person: {why}",
    "infra_error": "It could not be tried: {why}",
    "nothing_to_do": "{why}",
}


@stage
async def report_scan(run: StageContext, found: AlertGroup) -> Outcome:
    """Report what was found, and change nothing."""
    report = scan_report(found, run.request.repository_url)
    count = len(found.group.advisories)
    alerts = f"{count} alert{'s' * (count != 1)}"
    text = f"{alerts} about {one_line(found.name, 80)}; nothing changed."
    return _make_outcome("comment", "scanned", text, report, found)


@stage
async def nothing_to_do(run: StageContext, found: AlertGroup, why: str) -> Outcome:
    """Say why there is nothing to do."""
    run.summarize(one_line(why, 120))
    report = scan_report(found, run.request.repository_url)
    return _make_outcome("covered", "nothing_to_do", safe(why), report, found)


@stage
async def report_adopted(
    run: StageContext, request: RemediateAlert, work: Work, others: Others
) -> Outcome:
    """Say on another's pull request what was proved of it."""
    assert others.adopted is not None, "one was taken up"
    return await _say_there(run, request, work, others.adopted)


@stage
async def tell_another(run: StageContext, request: RemediateAlert, work: Work) -> Outcome:
    """Say on another's pull request what fails with it."""
    assert work.left is not None, "it has the same move"
    pull, notes = work.left.pull, await read_release_notes(run, work)
    work = work.model_copy(update={"release_notes": notes})
    return await _say_there(run, request, work, pull)


async def _say_there(
    run: StageContext, request: RemediateAlert, work: Work, pull: OtherPull
) -> Outcome:
    alerts = run.ports.alerts
    assert alerts is not None, "that is where it was found"
    report = fix_report(work, request.repository_url)
    url = pull.url
    if not request.no_pr:
        run.lets_out()
        body = comment_body(work, request.repository_url)
        url = await alerts.say(pull.number, KEY, body)
    run.summarize(f"#{pull.number} {'stands' if work.verified else 'could not be verified'}")
    said = f"#{pull.number} of {one_line(pull.author, 60)} moves it out of every range."
    text = f"{said} {_describe_checks(work)}"
    outcome = _make_outcome("comment", _name_result(work), text, report, work)
    return outcome.model_copy(update={"url": url})


@stage
async def report_failure(run: StageContext, work: Work) -> Outcome:
    """Report why there is no fix."""
    result = failure_of(work)
    why = _explain_refusal(work)
    run.summarize(result.replace("_", " "))
    kind = "covered" if result == "nothing_to_do" else "failed"
    text = safe(_VERDICTS[result].format(why=one_line(why, 400)))
    report = fix_report(work, run.request.repository_url)
    return _make_outcome(kind, result, text, report, work)


@stage
async def keep_override(run: StageContext, work: Work) -> Outcome:
    """Say why the override stays: nobody is called for that."""
    unable = failure_of(work) == "infra_error"
    kind, result = ("failed", failure_of(work)) if unable else ("covered", "nothing_to_do")
    text = one_line(_why_kept(work), 400)
    run.summarize(one_line(text, 120))
    report = fix_report(work, run.request.repository_url)
    return _make_outcome(kind, result, safe(text), report, work)


@stage
async def publish(run: StageContext, request: RemediateAlert, work: Work) -> Outcome:
    """Open the pull request."""
    assert work.bump is not None, "only what stands is published"
    work = work.model_copy(update={"release_notes": await read_release_notes(run, work)})
    report = fix_report(work, request.repository_url)
    result = _name_result(work)
    title = await run.format_subject(format_title(work))
    if request.no_pr:
        run.summarize("nothing published, as asked")
        return _make_outcome(
            "comment",
            result,
            _MADE.format(subject=title, checked=_describe_checks(work)),
            report,
            work,
        )
    if await _all_closed(run, work):
        run.summarize("its alerts were closed meanwhile")
        return _make_outcome("covered", "nothing_to_do", _CLOSED, report, work)
    draft = not work.verified or work.advisories_unknown or await _is_draft_by_policy(run, work)
    if draft:  # beside it, what may be merged as it is stays
        drafts = tuple(each for each in work.earlier if each.draft)
        work = work.model_copy(update={"earlier": drafts})
    renewed = None if request.branch else next(iter(work.replaced), None)
    name = request.branch or (
        renewed.branch if renewed else await run.new_branch(*branch_words(request), run.mark)
    )
    body = _body(work, request.repository_url, renewed) + await _name_newer(run, request, work)
    run.lets_out()
    await run.push(name, replacing=renewed.head if renewed else "")
    work = run.rename_commits_in(work)
    pull_request = await run.ports.publisher.open_pull_request(
        branch=name,
        commit=run.head,
        title=title,
        body=await put_into_template(run, body),
        draft=draft,
        evidence=evidence(work, request.repository_url),
        terms=(await run.policy()).pull_requests,
    )
    await _tell_replaced(run, work, pull_request, renewed)
    number = f" #{pull_request.number}" if pull_request.number else ""
    kind = "draft pull request" if pull_request.draft else "pull request"
    run.summarize(f"{kind}{number}" if number else name)
    did = "Made anew:" if renewed else "Opened"
    made = f"{did} {kind}{number}" if number else f"Made the branch {one_line(name, 120)}"
    text = f"{made}: {title}. {_describe_checks(work)}"
    outcome = _make_outcome("pull_request", result, text, report, work)
    return outcome.model_copy(update={"url": pull_request.url, "pull_request": pull_request})


async def _tell_replaced(
    run: StageContext, work: Work, pull_request: PullRequest, renewed: OtherPull | None
) -> None:
    """Say on a pull request that it was made anew, and close others that it has all of."""
    alerts = run.ports.alerts
    if alerts is None or not pull_request.number:
        return
    if renewed is not None:
        at = one_line(run.base[:10], 10)
        text = _RENEWED.format(branch=code_span(one_line(pull_request.base, 80)), commit=at)
        await alerts.say(renewed.number, "renewed", text)
    for earlier in work.replaced:
        if renewed is None or earlier.number != renewed.number:
            text = _REPLACED.format(number=pull_request.number)
            await alerts.close_pull(earlier.number, REPLACED, text)


async def _is_draft_by_policy(run: StageContext, work: Work) -> bool:
    """Return whether it moves to another major version, and the policy wants that looked at."""
    major = work.bump.major if work.bump else ""
    return bool(major) and (await run.policy()).remediation.majors == "draft"


def _name_result(work: Work) -> Result:
    return "fixed" if work.verified else "unverified"


def _describe_checks(work: Work) -> str:
    """Return what was run and what came of it, in a sentence."""
    if work.handed_over and work.quality is not None:
        said = _NOT_FOLLOWED if work.is_there else _UNFOLLOWED
        return f"{headline(work.quality)} {said}"
    if work.setup is not None and work.setup.problems:
        return safe(f"Not verified: {one_line(work.setup.problems[0], 200)}")
    return headline(work.quality) if work.quality else "Not verified: no check was run."


def _body(work: Work, repository_url: str, renewed: OtherPull | None) -> str:
    body = pull_request_body(work, repository_url)
    instead = {*work.replaces, *(each.number for each in work.replaced)}
    instead -= {renewed.number} if renewed else set()
    if not instead:
        return body
    pulls = ", ".join(f"#{number}" for number in sorted(instead))
    parts = [body, _INSTEAD.format(pulls=pulls)]
    if not work.found.group.undisclosed:
        parts += [safe(f"- {one_line(why, 280)}") for why in work.why_not]
    return "\n\n".join(parts)


async def _name_newer(run: StageContext, request: RemediateAlert, work: Work) -> str:
    """Return, as a paragraph, what other bots have opened since the run looked for it."""
    if run.ports.alerts is None or work.found.retire is not None:
        return ""
    group, base = work.found.group, request.base_branch or request.repository.default_branch
    every = await run.ports.alerts.find_open_pulls(group.ecosystem, group.package, group.directory)
    known = {*work.replaces, *(each.number for each in work.earlier)}
    newer = [
        f"#{each.number} of {code_span(one_line(each.author, 60))}"
        for each in every
        if each.number not in known and each.base == base and not (each.own or each.foreign)
    ]
    return f"\n\n{_MEANWHILE.format(pulls=' and '.join(newer))}" if newer else ""


def _make_outcome(
    kind: str, result: Result, text: str, report: str, value: AlertGroup | Work
) -> Outcome:
    details = {"result": result, **value.model_dump(mode="json")}
    about = {"kind": kind, "text": text, "rule": rule_of(result), "report": report}
    return Outcome.model_validate({**about, "details": details, "ready": result != "unverified"})


def _explain_refusal(work: Work) -> str:
    if work.failed:
        return work.failed[-1].verdict.feedback or work.failed[-1].made
    by_code = work.refusal.reason if work.refusal else ""
    by_model = _LEFT.format(why=work.skipped) if by_code and work.skipped else work.skipped
    return " ".join(filter(None, (by_code, by_model, work.unsought)))


def _why_kept(work: Work) -> str:
    if work.refusal is not None:
        return work.refusal.reason
    issues = work.verdict.issues if work.verdict else ()
    return _KEPT.format(why=" ".join(each.description for each in issues))


async def _all_closed(run: StageContext, work: Work) -> bool:
    """Return whether nobody needs the fix any more."""
    numbers = sorted(number for each in work.groups for number in each.alerts)
    if run.ports.alerts is None or not numbers or work.found.retire is not None:
        return False
    return all([await run.ports.alerts.state(number) != "open" for number in numbers])
