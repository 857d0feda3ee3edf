"""From what tools are configured for to what a set-up may reach."""

import json
import tempfile
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.dependencies.indexes.finder import READERS, IndexFinder
from app.sandbox.port import Mount
from tests.app.dependencies.scene import OWNER, Names

PUBLIC = {
    "https://index.crates.io",
    "https://repo.maven.apache.org",
    "https://repo1.maven.org",
    "https://plugins.gradle.org",
    "https://plugins-artifacts.gradle.org",
    "https://rubygems.org",
    "http://rubygems.org",
    "http://index.rubygems.org",
    "https://index.rubygems.org",
    "https://repo.packagist.org",
    "https://api.nuget.org",
    "https://repo.hex.pm",
    "https://builds.hex.pm",
}
"""Where tools go that nobody has configured, of those that cannot be asked for it."""

pytestmark = pytest.mark.usefixtures("few_authorities")


@pytest.fixture
def finder(machine, index):
    """Make a finder for the machine's operator, who trusts the test's own authority."""
    bundle = machine.write("authority.pem", index.authority.pem)
    machine.environ["REQUESTS_CA_BUNDLE"] = str(bundle)

    def make(names=None, conceal=lambda secret: None, **options):
        operator = machine.operator(**options)
        return IndexFinder(operator, OWNER, conceal=conceal, resolver=names or Names())

    return make


def pip_uses(machine, url, **more):
    lines = [f"global.{name.replace('_', '-')}='{value}'" for name, value in more.items()]
    machine.prints("pip", config="\n".join([f"global.index-url='{url}'", *lines]))


def npm_uses(machine, url):
    machine.prints("npm", config=json.dumps({"registry": url}))


def places(found):
    return {str(origin.place) for origin in found.allowed}


def page(*links):
    files = [{"filename": "x", "url": link} for link in links]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "pip", "files": files})


# --- indexes and their files ----------------------------------------------------------------------


async def test_an_index_names_the_hosts_of_its_files(machine, index, finder):
    made = await index()
    made.page("/simple/pip/", page("https://files.example/a.whl", "../../own.whl"))
    pip_uses(machine, f"{made.url}/simple")
    found = await finder().find({"pip": "six"})
    assert places(found) == {made.url, "https://files.example"}
    assert found.environment["PIP_INDEX_URL"] == f"{made.url}/simple"
    assert not found.notes


async def test_an_index_in_html_as_well(machine, index, finder):
    made = await index(tls=False)
    made.page(
        "/simple/pip/",
        "<a href='https://files.example/a.whl'>a</a><a rel='homepage' "
        "href='https://evil.example/a.whl'>home</a><a href='/b.whl'>b</a><a href='ftp://f.example'>",
    )
    pip_uses(machine, f"{made.url}/simple/")
    found = await finder().find({"pip": ""})
    assert places(found) == {made.url, "https://files.example"}
    assert found.environment["PIP_TRUSTED_HOST"] == f"{made.host}:{made.port}"


async def test_an_index_with_its_owners_packages_alone_is_asked_for_one_of_ours(
    machine, index, finder
):
    made = await index()
    made.page("/simple/mine/", page("https://files.example/a.whl"))
    pip_uses(machine, f"{made.url}/simple")
    assert "https://files.example" in places(await finder().find({"pip": "mine"}))
    assert [path for _, path, _ in made.asked] == ["/simple/pip/", "/simple/mine/"]


@pytest.mark.parametrize("name", ["../../admin", "a/../b", "a?x=y", "http://evil.example/", "a b"])
async def test_a_repository_cannot_choose_what_is_asked(machine, index, finder, name):
    made = await index()
    pip_uses(machine, f"{made.url}/simple")
    await finder().find({"pip": name})
    assert {path for _, path, _ in made.asked} == {"/simple/pip/"}


async def test_npms_registry_names_the_hosts_of_its_files(machine, index, finder):
    made = await index()
    hostile = {"tarball": "https://evil.example/a.tgz", "repository": "https://evil.example"}
    answer = {**hostile, "dist": {"tarball": "https://files.example/npm.tgz"}}
    made.page("/npm/latest", json.dumps(answer))
    npm_uses(machine, f"{made.url}/")
    found = await finder().find({"npm": ""})
    assert places(found) == {made.url, "https://files.example"}


async def test_an_index_that_says_nothing_is_allowed_alone_and_that_is_said(machine, index, finder):
    made = await index()
    pip_uses(machine, f"{made.url}/simple")
    found = await finder().find({"pip": ""})
    assert places(found) == {made.url}
    assert "did not say where its files are (it answered with status 404)" in found.notes[0]


async def test_an_index_names_a_few_hosts_at_most(machine, index, finder):
    made = await index()
    made.page("/simple/pip/", page(*(f"https://f{n}.example/a.whl" for n in range(50))))
    pip_uses(machine, f"{made.url}/simple")
    assert len(places(await finder().find({"pip": ""}))) == 5


async def test_a_redirect_leads_nowhere(machine, index, canary, finder):
    made = await index()
    made.page("/simple/pip/", "", status=302, Location=f"http://127.0.0.1:{canary.port}/")
    pip_uses(machine, f"{made.url}/simple")
    assert places(await finder().find({"pip": ""})) == {made.url}
    assert canary.visits == 0


# --- private and public ---------------------------------------------------------------------------


async def test_a_private_index_may_lead_to_private_hosts_and_a_public_one_may_not(
    machine, index, finder
):
    made = await index()
    made.page("/simple/pip/", page("https://files.example/a.whl"))
    pip_uses(machine, f"{made.url}/simple")
    private = await finder().find({"pip": ""})
    assert [origin.private_ok for origin in private.allowed] == [True, True]
    names = Names(index_example=[["8.8.8.8"], ["127.0.0.1"]])
    public = await finder(names).find({"pip": ""})
    assert [origin.private_ok for origin in public.allowed] == [False]
    # Its second answer, ours, came when it was asked where its files are.
    assert "not a public address" in public.notes[0]
    assert len(made.asked) == 1


async def test_an_index_that_does_not_resolve_is_said(machine, finder):
    async def refuse_name(host, port):
        raise OSError("no such name")

    pip_uses(machine, "https://index.example/simple")
    found = await finder(refuse_name).find({"pip": ""})
    assert "cannot be reached" in found.notes[0]


# --- secrets --------------------------------------------------------------------------------------


async def test_credentials_are_used_by_us_and_by_nobody_else(machine, index, finder):
    made = await index()
    made.page("/team/simple/pip/", page("/team/files/a.whl"))
    pip_uses(machine, f"{made.url}/team/simple".replace("://", "://bot:hunter22@"))
    concealed = []
    found = await finder(conceal=concealed.append).find({"pip": ""})
    assert concealed == ["hunter22"]
    assert "hunter22" not in repr(found)
    assert found.allowed[0].key("/team/files/a.whl").header.get_secret_value() == (
        "Basic Ym90Omh1bnRlcjIy"
    )
    assert made.asked[0][2]["Authorization"] == "Basic Ym90Omh1bnRlcjIy"


async def test_variables_are_passed_on_without_credentials(machine, finder):
    machine.environ |= {
        "PIP_ONLY_BINARY": ":all:",
        "MY_INDEX": "https://u:hunter22@a.example/",
        "MY_TOKEN": "hunter22",
        "NOT_NAMED": "hunter22",
    }
    names = ("PIP_ONLY_BINARY", "MY_INDEX", "MY_TOKEN", "ABSENT")
    found = await finder(variables=names).find({"maven": ""})
    assert found.environment == {"PIP_ONLY_BINARY": ":all:", "MY_INDEX": "https://a.example/"}
    assert "`MY_TOKEN`" in found.notes[-1]


# --- the operator's word, and nobody else's -------------------------------------------------------


async def test_operators_hosts(finder):
    hosts = ("mirror.example", "odd.example:8443", "http://plain.example:8080/")
    found = await finder(hosts=hosts).find({"maven": ""})
    assert [(str(origin.place), origin.tunnel) for origin in found.allowed] == [
        ("https://mirror.example", True),
        ("https://odd.example:8443", True),
        ("http://plain.example:8080", False),
    ]
    assert "maven" in found.notes[0]


@pytest.mark.parametrize("host", ["*.example", "a.example/path", "", "a b", "ftp://a.example"])
async def test_hosts_that_are_none(finder, host):
    with pytest.raises(ConfigError, match="FETTLE_SETUP_HOSTS"):
        await finder(hosts=(host,)).find({"maven": ""})


async def test_a_repository_cannot_widen_what_is_allowed(machine, index, finder, hostile):
    """Its files name evil.example in every tool's words; all of them are asked here."""
    made = await index()
    made.page("/simple/pip/", page("https://files.example/a.whl"))
    made.page("/npm/latest", json.dumps({"dist": {"tarball": f"{made.url}/npm.tgz"}}))
    machine.prints("pip", config="", install=f"--index-url <url> (default {made.url}/simple)")
    # What npm does for real: the file of the folder it stands in wins.
    machine.program(
        "npm",
        "registry=$(sed -n 's/^registry=//p' .npmrc 2>/dev/null)\n"
        f'echo "{{\\"registry\\": \\"${{registry:-{made.url}/}}\\"}}"',
    )
    tools = dict.fromkeys(sorted(READERS), "six")
    found = await finder().find(tools)
    assert {each for each in places(found) if each not in PUBLIC} == {
        made.url,
        "https://files.example",
    }
    assert "evil" not in repr(found)


# --- folders, certificates, memory ----------------------------------------------------------------


@pytest.fixture
def folder_on_disk():
    """A folder for an index, which may not lie below /dev, as tests' other folders do."""
    with tempfile.TemporaryDirectory(prefix="fettle-test-", dir="/var/tmp") as made:
        Path(made).chmod(0o755)
        yield Path(made)


async def test_folders_are_mounted_with_the_files_that_their_pages_name(
    machine, finder, folder_on_disk
):
    (folder_on_disk / "simple/six").mkdir(parents=True)
    (folder_on_disk / "files").mkdir()
    (folder_on_disk / "files/six.whl").write_text("wheel")
    (folder_on_disk / "simple/six/index.html").write_text("<a href='../../files/six.whl#sha256=1'>")
    pip_uses(machine, f"file://{folder_on_disk}/simple")
    found = await finder().find({"pip": ""})
    paths = (folder_on_disk / "simple", folder_on_disk / "files")
    assert found.mounts == tuple(Mount(path, str(path)) for path in paths)


@pytest.mark.parametrize(
    "folder", ["/", "/etc/ssl", "/proc/self", "/run/x", "/nowhere/there", "/srv"]
)
async def test_folders_that_are_no_index_are_left_out(machine, finder, folder):
    pip_uses(machine, "https://index.example/simple", find_links=folder)
    found = await finder().find({"pip": ""})
    assert found.mounts == ()
    assert any(f"`{folder}` is left out" in note for note in found.notes)


async def test_certificates_that_are_none_are_said(machine, finder):
    bad = machine.write("bad.pem", "no certificate")
    pip_uses(machine, "https://index.example/simple", cert=bad)
    machine.environ["NODE_EXTRA_CA_CERTS"] = "/nowhere/ca.pem"
    found = await finder().find({"pip": ""})
    assert len(found.certificates) == 1
    assert any("holds none" in note for note in found.notes)
    assert any("cannot be read" in note for note in found.notes)


async def test_what_was_found_is_remembered(machine, index, finder):
    made = await index()
    made.page("/simple/pip/", page("https://files.example/a.whl"))
    pip_uses(machine, f"{made.url}/simple")
    asked = finder()
    first = await asked.find({"pip": ""})
    assert await asked.find({"pip": ""}) is first
    assert len(made.asked) == 1


async def test_a_tool_is_asked_once_whoever_needs_its_answer(machine, index, finder):
    made = await index()
    pip_uses(machine, f"{made.url}/simple")
    found = finder()
    await found.find({"pip": ""})
    machine.absent("pip")
    assert places(await found.find({"pip": "", "npm": ""})) == {made.url}
    assert f"pip simple {made.url}/simple" in await found.origins({"poetry": ""})


async def test_without_names_every_tool_that_is_there_is_meant(machine, index, finder):
    made = await index()
    made.page("/simple/pip/", page("https://files.example/a.whl"))
    pip_uses(machine, f"{made.url}/simple")
    found = await finder().find({})
    assert places(found) == {made.url, "https://files.example"}
    assert found.notes == ()
