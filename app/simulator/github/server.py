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
from app.simulator.github.calls import Parts, build_parts
from app.simulator.github.faults import Exchange, Faults, ledger_middleware
from app.simulator.github.files import register_files
from app.simulator.github.git_http import GitHttp
from app.simulator.github.graphql.api import Graphql
from app.simulator.github.limits import RateLimits, api_middleware, limit_routes
from app.simulator.github.pages.routes import Pages
from app.simulator.github.rest.routes import register_rest
from app.simulator.github.routing import PARTS, register
from app.simulator.github.state.world import World

LARGEST_PUSH = 1024**3


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
        parts = build_parts(world)
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
        app[PARTS] = self.parts
        register_rest(app, self)
        register(app, limit_routes(self.limits))
        app.router.add_post("/api/graphql", Graphql(self.parts).answer)
        register_files(app, self.parts)
        GitHttp(self.parts).register(app)
        Pages(self.parts).register(app)
