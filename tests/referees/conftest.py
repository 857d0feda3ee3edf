"""What the referees share: the packages they come in, and a local GitHub to judge."""

import pytest

from app.local.github import LocalGitHub
from tests.referees.openapi import RestReferee
from tests.referees.packages import npm_packages, rest_description
from tests.referees.webhook_schemas import WebhookReferee


@pytest.fixture(scope="session")
def packages():
    """`node_modules/@octokit` with the packages of package.json."""
    return npm_packages()


@pytest.fixture(scope="session")
def rest_referee():
    """Judges `github.requests`."""
    return RestReferee(rest_description().read_bytes())


@pytest.fixture(scope="session")
def webhook_referee(packages):
    """Judges `github.webhooks.log`."""
    return WebhookReferee(packages)


@pytest.fixture
async def github(tmp_path):
    started = await LocalGitHub.start(tmp_path / "github")
    yield started
    await started.stop()
