"""The one way to run git: no secret shows, nothing but the caller decides."""

import asyncio
import base64
from pathlib import Path

import pytest

from agents.errors import ConfigError, RunError, TransientError
from app.git.environment import CONFIG, trusted_environment
from app.git.errors import GitFailed, clean_error, network_fault
from app.git.git_runner import Git
from app.git.mirror.mirror import Mirror
from app.git.remote import remote_of
from app.sandbox.output_buffer import FullBuffer

TOKEN = "ghs_0123456789abcdefghijABCDEFGHIJ012345"


def forms(token):
    """Return the ways in which a token could show."""
    basic = base64.b64encode(f"x-access-token:{token}".encode())
    return [token.encode(), base64.b64encode(token.encode()), basic, token.encode().hex().encode()]


class Watch:
    """Looks at the command line and the environment of every process, again and again."""

    def __init__(self, token):
        self.forms = forms(token)
        self.hits = []
        self.programs = set()

    async def look(self):
        while True:
            self.look_once()
            await asyncio.sleep(0.002)

    def look_once(self):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                self.look_at(entry)

    def look_at(self, entry):
        for name in ("cmdline", "environ"):
            try:
                text = (entry / name).read_bytes()
            except OSError:
                continue
            if name == "cmdline":
                self.programs.add(text.split(b"\0")[0].rsplit(b"/")[-1])
            self.hits += [f"{entry.name} {name}" for form in self.forms if form in text]

    async def watch_during(self, work):
        looking = asyncio.create_task(self.look())
        try:
            return await work
        finally:
            looking.cancel()


async def test_the_token_shows_in_no_process_and_on_no_disk(estate, server, place):
    server.pause = 0.03
    url = f"{server.url}/upstream.git"
    mirror, watch = Mirror(place / "mirrors" / "2.git"), Watch(TOKEN)
    await watch.watch_during(mirror.fetch(url, TOKEN))
    await watch.watch_during(mirror.push(url, TOKEN, estate.base, "bot/x", None))
    assert watch.hits == []
    assert any(b"remote-http" in program for program in watch.programs)
    assert any(b"Basic" in header.encode() for header in server.authorizations)
    for form in forms(TOKEN):
        for path in mirror.gitdir.rglob("*"):
            assert not path.is_file() or form not in path.read_bytes()
    assert not (mirror.gitdir / "FETCH_HEAD").exists()


async def test_a_wrong_token_is_a_persons_business_and_stays_unseen(server, place, estate):
    secret = "ghs_wrongwrongwrongwrongwrongwrongwrong12"
    with pytest.raises(RunError, match="refused our token") as caught:
        await Mirror(place / "mirrors" / "3.git").fetch(f"{server.url}/upstream.git", secret)
    assert secret not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_token_that_the_host_does_not_know_yet_is_shown_again(
    server, place, estate, status
):
    server.faults = [status] * 2
    mirror = Mirror(place / "mirrors" / "6.git")
    await mirror.fetch(f"{server.url}/upstream.git", TOKEN)
    assert await mirror.holds(estate.base)


async def test_the_token_is_for_its_own_host_only(server, place):
    git = Git(place / "none.git")
    config = {"credential.http://other.example.helper": "!echo password=oops"}
    (place / "none.git").mkdir()
    await git.local("init", "--bare", "-q", "--template=")
    for_other = Git(place / "none.git", config=config)
    url = f"{server.url}/upstream.git"
    with pytest.raises(RunError, match="refused our token"):
        await for_other.network("ls-remote", "--end-of-options", url, url=url)
    assert not any(server.authorizations)


@pytest.mark.parametrize("status", [500, 502, 503, 429])
async def test_trouble_of_the_server_may_heal(server, place, estate, status):
    server.faults = [status]
    with pytest.raises(TransientError, match=str(status)):
        await Mirror(place / "mirrors" / "4.git").fetch(f"{server.url}/upstream.git", TOKEN)


async def test_a_redirect_is_not_followed(server, place, estate):
    server.faults = [301]
    with pytest.raises(RunError, match="has moved"):
        await Mirror(place / "mirrors" / "5.git").fetch(f"{server.url}/upstream.git", TOKEN)
    assert len(server.seen) == 1


async def test_a_missing_repository_is_a_persons_business(server, place):
    with pytest.raises(RunError, match="does not exist"):
        await Mirror(place / "mirrors" / "6.git").fetch(f"{server.url}/nobody.git", TOKEN)


async def test_no_server_may_heal(place):
    with pytest.raises(TransientError, match="could not reach"):
        await Mirror(place / "mirrors" / "7.git").fetch("http://127.0.0.1:9/x.git", TOKEN)


async def test_time_out_of_the_network_may_heal(server, place, estate):
    server.pause = 1
    url = f"{server.url}/upstream.git"
    with pytest.raises(TransientError, match="took longer"):
        await estate.mirror.git.network("ls-remote", url, url=url, token=TOKEN, timeout=0.3)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x",
        "ssh://git@github.com/o/r",
        "git@github.com:o/r.git",
        "http://github.com/o/r.git",
        "http://10.0.0.1/o/r.git",
        "https://user:password@github.com/o/r.git",
        "https://github.com/o/r.git?x=1",
        "file:///etc",
        "--upload-pack=x",
        "/some/path",
        "https://",
        "https://github.com/o/r\n.git",
    ],
)
def test_refused_addresses(url):
    with pytest.raises(ConfigError) as caught:
        remote_of(url, allow_files=False)
    assert "password" not in str(caught.value)


def test_accepted_addresses():
    assert remote_of("https://github.com/o/r.git", allow_files=False) == (
        "https",
        "https://github.com",
    )
    assert remote_of("http://127.0.0.1:80/o", allow_files=False) == ("http", "http://127.0.0.1:80")
    assert remote_of("http://[::1]:80/o", allow_files=False)[0] == "http"
    assert remote_of("file:///x", allow_files=True)[0] == "file"


async def test_local_git_reaches_no_network(estate):
    for url in (estate.url, "https://127.0.0.1:9/x", "ext::true"):
        with pytest.raises(GitFailed, match="not allowed"):
            await estate.mirror.git.local("fetch", url)


async def test_our_environment_is_not_gits(estate, monkeypatch):
    for name, value in {
        "GIT_EXTERNAL_DIFF": "touch /tmp/owned",
        "GIT_CONFIG_PARAMETERS": "'user.name=evil'",
        "GIT_OBJECT_DIRECTORY": "/nonexistent",
        "GIT_DIR": "/nonexistent",
        "GIT_TRACE": "1",
        "HOME": "/nonexistent/home",
    }.items():
        monkeypatch.setenv(name, value)
    assert await estate.mirror.resolve(estate.base) == estate.base
    with pytest.raises(GitFailed):
        await estate.mirror.git.local("config", "user.name")


async def test_local_trouble_is_an_error_with_gits_words(estate):
    with pytest.raises(GitFailed, match="cat-file"):
        await estate.mirror.git.local("cat-file", "-p", "0" * 40)


async def test_output_has_a_limit(estate):
    with pytest.raises(RunError, match="wrote more"):
        await estate.mirror.git.local("cat-file", "-p", estate.base, out=FullBuffer(10))


def test_every_setting_is_in_the_environment():
    environment = trusted_environment({"core.bare": "false"})
    assert environment["GIT_CONFIG_COUNT"] == str(len(CONFIG) + 1)
    assert "PATH" not in environment
    assert environment["GIT_ALLOW_PROTOCOL"] == "none"


def test_errors_are_cleaned():
    said = b"fatal: unable to access 'https://u:p4ss@host/x': token " + TOKEN.encode() + b"\x1b[31m"
    text = clean_error(said, TOKEN)
    assert TOKEN not in text
    assert "p4ss" not in text
    assert "\x1b" not in text


def test_a_rate_limit_passes_though_it_looks_like_a_refusal():
    said = (
        "remote: You have exceeded a secondary rate limit. Please wait a few minutes.\n"
        "fatal: unable to access 'https://h/x/': The requested URL returned error: 403"
    )
    assert isinstance(network_fault("fetch", "https://h/x", 128, said), TransientError)


def test_unknown_trouble_names_the_command():
    error = network_fault("fetch", "https://h/x", 128, "fatal: something new")
    assert isinstance(error, GitFailed)
    assert "something new" in str(error)


async def test_no_message_tells_where_the_server_keeps_a_mirror(tmp_path):
    with pytest.raises(GitFailed) as raised:
        await Git(tmp_path / "mirrors" / "1009.git").local("cat-file", "-e", "1" * 40)
    assert "not a git repository" in str(raised.value)
    assert str(tmp_path) not in str(raised.value)


def test_a_recorded_failure_of_git_can_be_raised_again():
    """A stage's record has its class and its text; a replay makes the error from these alone."""
    assert str(GitFailed("`git cat-file` failed")) == "`git cat-file` failed"
