"""Addresses that lead inwards: the policy lets every host through, the fetcher must not."""

from __future__ import annotations

import pytest
import yaml

from tests.attacks.conftest import make_script
from tests.attacks.naive import leads_inwards
from tests.flows.conftest import write_policy
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

ADDRESSES = {
    "loopback": "http://127.0.0.1:{tcp}/",
    "loopback by name": "http://localhost/",
    "loopback, decimal": "http://2130706433/",
    "loopback, octal": "http://0177.0.0.1/",
    "loopback, short": "http://127.1/",
    "loopback, hexadecimal": "http://0x7f.1/",
    "loopback in other digits": "http://①②⑦.⓪.⓪.①/",
    "loopback in IPv6": "http://[::1]/",
    "mapped into IPv6": "http://[::ffff:127.0.0.1]/",
    "translated into IPv6": "http://[64:ff9b::7f00:1]/",
    "this machine": "http://0.0.0.0:{tcp}/",
    "the cloud's metadata": "http://169.254.169.254/latest/meta-data/",
    "another cloud's": "http://168.63.129.16/metadata",
    "carrier-grade NAT": "http://100.100.100.200/",
    "a private network": "http://10.0.0.1/",
    "another port": "http://example.com:{tcp}/",
    "a mail port": "http://example.com:25/",
    "a file": "file:///etc/passwd",
    "a socket": "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "gopher": "gopher://127.0.0.1:{tcp}/_x",
    "FTP": "ftp://127.0.0.1/",
    "data": "data:text/html,hello",
    "a user in front": "http://example.com@127.0.0.1:{tcp}/",
    "a backslash": "http://example.com\\@127.0.0.1:{tcp}/",
    "a line break": "http://example.com/\r\nHost: 127.0.0.1",
    "a trailing dot": "http://localhost./",
    "multicast": "http://224.0.0.1/",
}


@pytest.mark.attack(14)
async def test_webfetch_never_reaches_inwards(hostile, canaries, attempts):
    policy = yaml.safe_dump({"web": {"hosts": ["*", "127.0.0.1", "localhost", "169.254.169.254"]}})
    calls = [
        [{"webfetch": {"url": address.format(tcp=canaries.tcp)}}] for address in ADDRESSES.values()
    ]
    together = [[c for [c] in calls[at : at + 9]] for at in range(0, len(calls), 9)]
    files = write_policy(policy)
    script = make_script(inside={"# Triage": together})
    async with hostile(files=files, script=script, silent=False) as place:
        await place.label()
        outcome = await place.wait_for_end()
        heard = await place.read_results("triage/1")
    assert outcome.kind == "pull_request"
    for name, address in ADDRESSES.items():
        inwards = leads_inwards(address.format(tcp=canaries.tcp))
        silent = not canaries.heard and canaries.host_file not in heard
        attempts.note(name, blocked=silent, bites=inwards)
