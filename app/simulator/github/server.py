"""A GitHub on loopback: REST, GraphQL, git over HTTP, webhooks and pages on one port."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from app.simulator.github.admin.alerts import AlertsAdmin
from app.simulator.github.admin.bots import BotsAdmin
from app.simulator.github.admin.checks import ChecksAdmin
from app.simulator.github.admin.installations import InstallationsAdmin
from app.simulator.github.admin.links import LinksAdmin
from app.simulator.github.admin.people import Admin
from app.simulator.github.admin.pulls import PullsAdmin
from app.simulator.github.admin.repositories import RepositoriesAdmin
from app.simulator.github.admin.reviews import ReviewsAdmin
from app.simulator.github.calls import Parts
from app.simulator.github.changes.alerts import AlertChanges
from app.simulator.github.changes.checks import CheckChanges
from app.simulator.github.changes.issues import IssueChanges
from app.simulator.github.changes.merges import MergeChanges
from app.simulator.github.changes.pulls import PullChanges
from app.simulator.github.changes.repositories import RepositoryChanges
from app.simulator.github.changes.reviews import ReviewChanges
from app.simulator.github.faults import Exchange, Faults, ledger_middleware
from app.simulator.github.files import register_files
from app.simulator.github.git_http import GitHttp
from app.simulator.github.graphql.api import Graphql
from app.simulator.github.limits import RateLimits, api_middleware, limit_routes
from app.simulator.github.pages.routes import Pages
from app.simulator.github.rest import actions as rest_actions
from app.simulator.github.rest import advisories as rest_advisories
from app.simulator.github.rest import alerts as rest_alerts
from app.simulator.github.rest import apps as rest_apps
from app.simulator.github.rest import checks as rest_checks
from app.simulator.github.rest import contents as rest_contents
from app.simulator.github.rest import issues as rest_issues
from app.simulator.github.rest import labels as rest_labels
from app.simulator.github.rest import links as rest_links
from app.simulator.github.rest import manifests as rest_manifests
from app.simulator.github.rest import pulls as rest_pulls
from app.simulator.github.rest import reading as rest_reading
from app.simulator.github.rest import remarks as rest_remarks
from app.simulator.github.rest import repositories as rest_repositories
from app.simulator.github.rest import reviews as rest_reviews
from app.simulator.github.routing import register
from app.simulator.github.state.world import World
from app.simulator.github.tokens import Tokens
from app.simulator.github.webhooks import Webhooks

LARGEST_PUSH = 1024**3
SUBJECTS = (
    rest_apps,
    rest_manifests,
    rest_repositories,
    rest_contents,
    rest_issues,
    rest_labels,
    rest_links,
    rest_pulls,
    rest_reviews,
    rest_remarks,
    rest_checks,
    rest_actions,
    rest_reading,
    rest_alerts,
    rest_advisories,
)


class LocalGitHub(
    Admin,
    AlertsAdmin,
    BotsAdmin,
    ChecksAdmin,
    InstallationsAdmin,
    LinksAdmin,
    PullsAdmin,
    RepositoriesAdmin,
    ReviewsAdmin,
):
    """GitHub as an Enterprise Server looks: `/api/v3`, `/api/graphql`, `/owner/name.git`, pages.

    The methods inherited from Admin act as its people; `faults` plans trouble; `requests` is
    everything that was asked over HTTP.
    """

    def __init__(self, parts: Parts, runner: web.AppRunner) -> None:
        super().__init__(parts)
        self._runner = runner
        self.faults = Faults()
        self.requests: list[Exchange] = []
        self.limits = RateLimits(parts.world)

    @property
    def url(self) -> str:
        """Return the address that people and FETTLE_GITHUB_URL use."""
        return self.world.url

    @classmethod
    async def start(cls, root: Path, *, port: int = 0) -> LocalGitHub:
        """Serve on 127.0.0.1; git repositories live below `root`."""
        world = World(url="", root=root)
        parts = _parts(world)
        app = web.Application(client_max_size=LARGEST_PUSH)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        github = cls(parts, runner)
        github._build(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        world.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return github

    async def stop(self) -> None:
        """Stop serving; what is on disk stays."""
        await self.webhooks.stop()
        await self._runner.cleanup()

    def _build(self, app: web.Application) -> None:
        app.middlewares.append(ledger_middleware(self.world, self.requests, self.faults))
        app.middlewares.append(api_middleware(self.world, self.limits))
        for subject in SUBJECTS:
            register(app, self.parts, subject.routes)
        register(app, self.parts, limit_routes(self.limits))
        app.router.add_post("/api/graphql", Graphql(self.parts).answer)
        rest_actions.register_storage(app, self.world)
        rest_manifests.register_form(app, self)
        register_files(app, self.parts)
        GitHttp(self.parts).register(app)
        Pages(self.parts).register(app)


def _parts(world: World) -> Parts:
    webhooks = Webhooks(world)
    issues = IssueChanges(world, webhooks.announce)
    alerts = AlertChanges(world, webhooks.announce)
    pulls = PullChanges(world, webhooks.announce, issues, alerts)
    return Parts(
        world,
        Tokens(world),
        webhooks,
        issues,
        pulls,
        MergeChanges(world, issues, pulls),
        ReviewChanges(world, webhooks.announce, issues),
        CheckChanges(world, webhooks.announce),
        alerts,
        RepositoryChanges(world, webhooks),
    )
