"""Package indexes behind the operator's own proxy: read as any other way, and no more of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from app.network.outbound import Outbound
from tests.app.dependencies.company_proxy import CompanyProxy
from tests.app.dependencies.scene import Names, open_client, origin

pytestmark = pytest.mark.usefixtures("few_authorities")


@pytest.mark.parametrize("tunnel", [False, True])
async def test_an_index_behind_the_operators_proxy(index, tunnel):
    """Its name leads nowhere here, and no set-up can make the proxy ask for another."""
    plain = await index(tls=False)
    plain.page("/simple/six/", "six")
    names = Names(inner_example=[[]])
    async with CompanyProxy() as company:
        place = urlsplit(company.lead("inner.example", f"http://127.0.0.1:{plain.port}"))
        there = SimpleNamespace(host=place.hostname, port=443, url=place.geturl())
        pem = [company.authority.pem]
        way = Outbound({"https": company.url}, authorities=pem[0])
        options = {"certificates": pem, "resolver": names, "outbound": way}
        only = origin(there, private_ok=False, tunnel=tunnel)
        async with open_client(only, **options) as client:
            if tunnel:  # the sandbox speaks with whoever ends TLS there
                Path(client.proxy.folder / "ca.pem").write_text(pem[0])
            assert (await client.get(there, "/simple/six/", host=there.host)).endswith("six")
            with pytest.raises(ConnectionRefusedError):
                await client.get(SimpleNamespace(host="other.example", port=443), "/")
        assert company.asked == [("inner.example:443", 200)]
    assert names.asked == []
