"""Step 4: the rules that `.github/fettle.yml` adds: what starts work, who may, by which models.

Decided from facts, without I/O, after the rules that hold everywhere: whoever may not write to the
repository hears nothing of its policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agents.policy import POLICY_PATH, Found, InvalidPolicy, Policy, PolicyFault, Who, list_faults
from agents.requests import Command, Request
from handlers.access.issues import AskerFacts, Refusal, may_write, refusal, way_of
from handlers.access.pull_requests import UNCALLED, PullFacts

RANKS = {"write": 1, "maintain": 2, "admin": 3}
NOBODY_ASKS = UNCALLED | {"alert", "schedule", "clock"}
"""Ways of asking after which nobody waits for a reply."""
WITHOUT_ASKER = frozenset({"terminal", "checks", "watch", "alert", "schedule", "clock"})
"""Ways of asking without a person whose role could be looked up."""


@dataclass(frozen=True)
class Rules:
    """What the rules look at: the policy, the asker, and the models that the operator allows."""

    policy: Policy
    asker: AskerFacts
    models: frozenset[str]
    """Names of the models that policies may name."""


def decide(
    request: Request, found: Found, asker: AskerFacts, models: frozenset[str]
) -> Refusal | None:
    """Return the first rule of the policy that speaks against the request, or None."""
    silent = request.via in NOBODY_ASKS
    if isinstance(found, InvalidPolicy):
        return refusal("policy_valid", describe_faults(found), silent=silent)
    rules = Rules(found.policy, asker, models)
    for rule in RULES:
        if text := rule(request, rules):
            return refusal(rule.__name__, text, silent=silent)
    return None


def decide_command(
    command: Command, found: Found, role_name: str, permission: str
) -> Refusal | None:
    """Return why the policy does not let this person approve, steer or give a run more; or None.

    Whoever may write may deny and cancel, whatever the policy says: neither makes anything happen.
    """
    done = "decided" if command.verb == "approve" else "done"
    if isinstance(found, InvalidPolicy):
        return Refusal(rule="policy-valid", text=f"Nothing was {done}: {describe_faults(found)}")
    who, login = found.policy.who, command.asked_by.login
    if is_among(who, login, role_name, permission):
        return None
    what, then = "do that", "One of them can write the same line in a comment."
    if command.verb in ("go", "remark"):
        what = "steer what is under way"
        then = "What others say here the run does not hear; one of them can say it instead."
    text = (
        f"the policy of `{command.repository.full_name}` lets {describe_people(who)} {what} "
        f"(`who` in `{POLICY_PATH}`), and the role of `{login}` is "
        f"`{role_name or permission}`. {then}"
    )
    return Refusal(rule="asker-among", text=f"Nothing was {done}: {text}")


def describe_faults(found: InvalidPolicy) -> str:
    """Return what is wrong with the policy, for people, with where they can look at it."""
    origin = found.origin
    where = f"`{POLICY_PATH}` in `{origin.repository}`" if origin.owners else f"`{POLICY_PATH}`"
    why = f"{where} is not valid, so it cannot be told what it allows, and nothing is guessed."
    then = "Mend it on the default branch, then ask again. `fettle policy check` checks such files."
    if origin.secret:
        lines = ", ".join(str(each.line) for each in found.faults[:5])
        return f"{why} Not everybody may see it, so no more is said here than: line {lines}. {then}"
    faults = [_link(each, origin.url) for each in found.faults[:5]]
    more = list_faults(found.faults)[len(faults) :]
    listed = "\n".join(f"- {each}" for each in [*faults, *more])
    return f"{why}\n\n{listed}\n\n{then}"


def _link(fault: PolicyFault, url: str) -> str:
    place = f"line {fault.line}, column {fault.column}"
    return f"[{place}]({url}#L{fault.line}): {fault.text}" if url else f"{place}: {fault.text}"


def trigger_on(request: Request, rules: Rules) -> str | None:
    """Refuse a way of starting work that the owners have switched off."""
    name = TRIGGERS.get((request.kind, request.via)) or TRIGGERS.get(("", request.via), "")
    if not name or getattr(rules.policy.triggers, name):
        return None
    what = _STARTS[name]
    return (
        f"the policy of `{request.repository.full_name}` says that {what} starts nothing here "
        f"(`triggers.{name}` in `{POLICY_PATH}`)."
    )


def asker_among(request: Request, rules: Rules) -> str | None:
    """Refuse people whom the owners do not let start work."""
    if request.via in WITHOUT_ASKER:
        return None
    asker, who = rules.asker, rules.policy.who
    if is_among(who, request.asked_by.login, asker.role_name, asker.permission):
        return None
    role = asker.role_name or asker.permission
    return (
        f"the policy of `{request.repository.full_name}` lets {describe_people(who)} start work "
        f"(`who` in `{POLICY_PATH}`), and the role of `{request.asked_by.login}` is "
        f"`{role}`. One of them can {way_of(request).afresh}."
    )


def models_allowed(_request: Request, rules: Rules) -> str | None:
    """Refuse models that the operator, who pays for them, has not allowed."""
    named = rules.policy.models.named.items()
    wrong = [f"`{name}` (`models.{tier}`)" for tier, name in named if name not in rules.models]
    if not wrong:
        return None
    allowed = ", ".join(f"`{name}`" for name in sorted(rules.models))
    return (
        f"`{POLICY_PATH}` asks for {' and '.join(wrong)}, which the operator of Fettle does not "
        f"allow. Name one of {allowed}, or have the operator add it to FETTLE_MODELS_ALLOWED."
    )


def guidance_wanted(request: Request, rules: Rules) -> str | None:
    """Refuse to propose what people said to be written down where the owners want none of that."""
    if request.kind != "propose_guidance" or rules.policy.guidance != "never":
        return None
    return (
        f"the policy of `{request.repository.full_name}` wants no proposals of what people said"
        f" (`guidance` in `{POLICY_PATH}`)."
    )


def setup_wanted(request: Request, rules: Rules) -> str | None:
    """Refuse to offer set-up commands of a model where the owners want none of them."""
    if request.kind != "offer_setup" or rules.policy.setup.second_look:
        return None
    return (
        f"the policy of `{request.repository.full_name}` wants no set-up commands of a model"
        f" (`setup.second_look` in `{POLICY_PATH}`)."
    )


def updates_adapted(request: Request, rules: Rules) -> str | None:
    """Refuse other bots' updates where the owners do not want code adapted to them."""
    facts = rules.asker
    unasked = request.kind == "fix_checks" and request.via == "checks"
    theirs = isinstance(facts, PullFacts) and facts.of_updater
    if not unasked or not theirs or rules.policy.remediation.adapt:
        return None
    return (
        f"the policy of `{request.repository.full_name}` does not have code adapted to the updates"
        f" of other bots (`remediation.adapt` in `{POLICY_PATH}`)."
    )


def is_among(who: Who, login: str, role_name: str, permission: str) -> bool:
    """Tell whether the policy lets somebody of that role start work and approve.

    Of a role that an organisation made itself GitHub tells what it is built on only as far as
    read, write or admin: it counts as that, so one built on `maintain` counts as `write`.
    """
    if not may_write(role_name, permission):
        return False
    rank = RANKS.get(role_name) or RANKS.get(permission, 0)
    return rank >= RANKS[who.role] or login.lower() in {each.lower() for each in who.people}


def describe_people(who: Who) -> str:
    """Return the people whom the policy admits, in words."""
    higher = [f"`{role}`" for role in RANKS if RANKS[role] >= RANKS[who.role]]
    return f"people with the role {' or '.join(higher)}, and those that it names,"


TRIGGERS: Mapping[tuple[str, str], str] = {
    ("resolve_issue", "label"): "resolve",
    ("address_review", "label"): "address",
    ("address_review", "review"): "reviews",
    ("remediate_alert", "alert"): "alerts",
    ("remediate_alert", "schedule"): "alerts",
    ("", "command"): "commands",
}
"""The keys of `triggers`, by what is asked for and how."""
_STARTS = {
    "resolve": "the label `bot:resolve`",
    "address": "the label `bot:address`",
    "reviews": "a review",
    "commands": "a command in a comment",
    "alerts": "an alert",
}
RequestRule = Callable[[Request, Rules], str | None]
RULES: tuple[RequestRule, ...] = (
    *(trigger_on, asker_among, models_allowed),
    *(guidance_wanted, setup_wanted, updates_adapted),
)
