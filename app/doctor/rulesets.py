"""Rules of repositories for the branches that Fettle makes: which take signed commits only.

https://docs.github.com/rest/repos/rules#get-rules-for-a-branch
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agents.errors import FettleError
from app.config.allowed_owners import AllowedOwners
from app.doctor.finding import Diagnosis, ok, report_skip, report_warning
from app.doctor.github_client import DoctorClient
from app.github.transport.http import RequestFailed

ABOUT = "signed commits"
BRANCH = "bot/1-words-3f9a1c"
"""One as Fettle makes them: rules are told for a branch that is not there yet as well."""
MOST = 100
"""Repositories that are asked about: each takes a request."""
MOST_NAMED = 8
INSTALLATIONS = "/app/installations"
RULES = f"/repos/{{owner}}/{{repo}}/rules/branches/{BRANCH}"


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class _Owner(_Answer):
    login: str
    id: int


class _Installed(_Answer):
    id: int
    account: _Owner | None
    suspended_at: str | None = None


class _Repository(_Answer):
    owner: _Owner
    name: str
    archived: bool = False


class _Rule(_Answer):
    type: str


_INSTALLATIONS = TypeAdapter(list[_Installed])
_REPOSITORIES, _RULES = TypeAdapter(list[_Repository]), TypeAdapter(list[_Rule])


async def ruleset_findings(
    github: DoctorClient, owners: AllowedOwners, *, has_key: bool
) -> list[Diagnosis]:
    """Tell which repositories take signed commits only. `has_key`: the operator's signs them."""
    try:
        asked, demanding = await _ask_all(github, owners)
    except (FettleError, RequestFailed, ValidationError) as error:
        said = (
            str(error) if isinstance(error, FettleError) else "GitHub did not answer as expected."
        )
        return [report_skip(ABOUT, f"Which repositories demand them cannot be told. {said}")]
    if not asked:
        return []
    if not demanding:
        return [ok(ABOUT, f"None of {asked} repositories demands them.")]
    shown = ", ".join(demanding[:MOST_NAMED])
    left = len(demanding) - MOST_NAMED
    said = f"Demanded by {shown}{f' and {left} more' if left > 0 else ''}"
    if has_key or urlsplit(github.urls.web).hostname == "github.com":
        whose = "GitHub, or the operator's key," if has_key else "GitHub"
        return [ok(ABOUT, f"{said}: {whose} signs those of Fettle.")]
    remedy = (
        "If this server signs nothing for Apps, set FETTLE_COMMIT_KEY_FILE and FETTLE_COMMITTER:"
        " deploy/README.md, “Signed commits”."
    )
    return [report_warning(ABOUT, f"{said}.", remedy)]


async def _ask_all(github: DoctorClient, owners: AllowedOwners) -> tuple[int, list[str]]:
    """Return how many repositories were asked about, and those that demand signatures."""
    asked, demanding = 0, []
    for installation in _INSTALLATIONS.validate_python(await github.list_all(INSTALLATIONS)):
        account = installation.account
        if installation.suspended_at or not account or not owners.allows(account.login, account.id):
            continue
        async with github.enter(installation.id) as inside:
            every = _REPOSITORIES.validate_python(await inside.list_repositories())
            for each in [each for each in every if not each.archived][: MOST - asked]:
                asked += 1
                where = {"owner": each.owner.login, "repo": each.name}
                rules = _RULES.validate_python(await inside.get(RULES, where))
                if any(rule.type == "required_signatures" for rule in rules):
                    demanding.append(f"{each.owner.login}/{each.name}")
    return asked, demanding
