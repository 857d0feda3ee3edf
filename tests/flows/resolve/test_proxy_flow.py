"""A company's proxy is the only way out: GitHub, git and models are reached by it or not at all."""

from __future__ import annotations

from pathlib import Path

from tests.app.dependencies.company_proxy import PASSWORD, CompanyProxy
from tests.flows.forked import ForkedServer

GITHUB, MODELS = "github.corp.example", "models.corp.example"


async def test_a_run_behind_a_proxy_that_ends_tls(make_place, tmp_path):
    """Neither name leads anywhere without the proxy, whose authority this machine does not know."""
    tmp_path.chmod(0o755)
    async with CompanyProxy() as proxy:
        authorities = tmp_path / "company.pem"
        authorities.write_text(proxy.authority.pem)

        def start_behind(data, github_url, model_url, more):
            github, models = proxy.lead(GITHUB, github_url), proxy.lead(MODELS, model_url)
            return ForkedServer(data, github, models, more=more)

        settings = {"HTTPS_PROXY": proxy.url, "FETTLE_CA_FILE": str(authorities)}
        async with make_place(kind=start_behind, **settings) as place:
            place.github.world.url = f"https://{GITHUB}"
            await place.label()
            outcome = await place.ends("pull_request")

            assert outcome.url.startswith(f"https://{GITHUB}/")
            [pull] = place.pulls()
            assert not pull.draft
            log = place.server.log.read_text()
            kept = b"".join(
                path.read_bytes() for path in Path(place.server.data).rglob("*") if path.is_file()
            )
        told = {target for target, status in proxy.asked if status == 200}
        assert told == {f"{GITHUB}:443", f"{MODELS}:443"}
        assert PASSWORD not in log
        assert PASSWORD.encode() not in kept
