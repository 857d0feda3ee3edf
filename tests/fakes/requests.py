"""Requests that tests make, each of which says only what matters to it.

The repository is octo/lib. Jonas has opened its issue 7 and its pull request 31, and Mara asks
Fettle to work on them.
"""

from __future__ import annotations

from agents.requests import (
    AddressReview,
    Command,
    FixChecks,
    OfferSetup,
    Person,
    ProposeGuidance,
    RemediateAlert,
    Repository,
    ResolveIssue,
    RevertChange,
    UpdateBranch,
)

JONAS = Person(id=2, login="jonas")
MARA = Person(id=3, login="mara")
NOBODY = Person(id=0, login="")


def build_repository(**changes):
    return Repository(
        **{"id": 9, "owner": "octo", "name": "lib", "default_branch": "main"} | changes
    )


def build_resolve_issue(**changes):
    about = {
        "installation_id": 1,
        "repository": build_repository(),
        "number": 7,
        "title": "It adds wrong",
        "body": "`add(1, 1)` gives 3.",
        "author": JONAS,
        "asked_by": MARA,
        "label": "bot:resolve",
        "url": "https://example.org/7",
    }
    return ResolveIssue(**about | changes)


def describe_pull():
    """Return what is said about the pull request by every request to work on it."""
    return {
        "installation_id": 1,
        "repository": build_repository(),
        "number": 31,
        "title": "Add",
        "author": JONAS,
        "asked_by": MARA,
        "url": "https://example.org/octo/lib/pull/31",
    }


def build_address_review(**changes):
    return AddressReview(**describe_pull() | changes)


def build_update_branch(**changes):
    return UpdateBranch(**describe_pull() | changes)


def build_revert_change(**changes):
    about = {"merged": "a" * 40, "base_branch": "main", "title": "Change things"}
    return RevertChange(**describe_pull() | about | changes)


def build_fix_checks(**changes):
    """Nobody asks for it, as is usual."""
    return FixChecks(**describe_pull() | {"asked_by": NOBODY, "head": "a" * 40} | changes)


def build_remediate_alert(**changes):
    """One alert about jinja2 asks for it, and no person does."""
    about = {
        "installation_id": 1,
        "repository": build_repository(),
        "number": 0,
        "title": "Update jinja2",
        "author": NOBODY,
        "asked_by": NOBODY,
        "url": "https://example.org/octo/lib/security/dependabot/5",
        "ecosystem": "pip",
        "package": "jinja2",
    }
    return RemediateAlert(**about | changes)


def build_propose_guidance(**changes):
    """Nobody asks for it but the clock."""
    about = {
        "installation_id": 1,
        "repository": build_repository(),
        "number": 0,
        "title": "Write down what people said more than once",
        "author": NOBODY,
        "asked_by": NOBODY,
        "url": "https://example.org/octo/lib/pulls",
    }
    return ProposeGuidance(**about | changes)


def build_offer_setup(**changes):
    """Nobody asks for it but the clock, either."""
    about = build_propose_guidance(title="Say how it is set up").model_dump(exclude={"kind"})
    return OfferSetup(**about | changes)


def build_command(**changes):
    """Mara asks in a comment on issue 7 how its run is doing."""
    about = {
        "installation_id": 1,
        "repository": build_repository(),
        "number": 7,
        "verb": "status",
        "asked_by": MARA,
        "via": "comment",
        "url": "https://example.org/7#1",
    }
    return Command(**about | changes)
