"""Something new, approved: installed for one run alone, and the way there leads nowhere else."""

import json
import os
import tarfile
from io import BytesIO

import pytest

from agents.analysis.known_packages import read_known_packages
from agents.errors import ToolError
from agents.policy import Policy
from agents.tools.shell.known_install import find_known_install
from tests.app.dependencies.install.conftest import bash, wheel
from tests.app.dependencies.install.test_hostile import REACH, _state
from tests.app.dependencies.test_real_tools import has_npm, has_pip

NOTHING = Policy.model_validate({"setup": {"run": []}})
MODULES = Policy.model_validate({"setup": {"run": ["mkdir -p node_modules/a ~/.tool /setup/b"]}})
IMPORT = "python3 -c 'import {0}; print({0}.WORD)'"


async def add(tree, script, *, timeout=60):
    """Run what people approved."""
    return await tree.run(["bash", "-c", script], timeout=timeout, network="indexes")


@pytest.fixture
async def served(ground, index, few_authorities):
    """An index on loopback that the operator's pip and npm are configured for."""
    made = await index("localhost", tls=False)
    for name, word in (("tinypkg", "small"), ("otherpkg", "other")):
        file, data = wheel(name, "1.0", {f"{name}.py": f"WORD = {word!r}\n"})
        made.page(f"/simple/{name}/", f"<a href='../../files/{file}'>{file}</a>")
        made.page(f"/files/{file}", data, Content_Type="application/zip")
    ground.indexes(
        PIP_INDEX_URL=f"{made.url}/simple", PIP_CONFIG_FILE=os.devnull,
        NPM_CONFIG_REGISTRY=f"{made.url}/",
    )  # fmt: skip
    return made


@has_pip
async def test_an_approved_install_works_and_what_the_repository_names_needs_none(ground, served):
    """Later commands of the run see it; what needs no approval is installed as wheels alone."""
    known = read_known_packages("c", {"requirements.txt": "tinypkg\nbuilt\n", "api/uv.lock": ""})
    served.page("/simple/built/", "<a href='../../files/built-1.0.tar.gz'>built-1.0.tar.gz</a>")
    ground.commit({"api/README.md": ""})
    _, tree = await ground.run(policy=NOTHING)
    assert (await bash(tree, IMPORT.format("otherpkg"))).exit_code != 0

    done = await add(tree, "pip install otherpkg")
    see = f"{IMPORT.format('otherpkg')}; echo x >>/setup/venv/pyvenv.cfg && echo WROTE"
    seen = await bash(tree, see)

    assert done.exit_code == 0, done.output
    assert seen.output.startswith("other\n")
    assert "WROTE" not in seen.output
    assert await tree.list_install_commands() == ("pip install otherpkg",)
    assert (await bash(tree, IMPORT.format("tinypkg"))).exit_code != 0

    wheel_ = find_known_install("cd api && pip install tinypkg", known)
    source = find_known_install("python3 -m pip install built", known)
    done, refused = await add(tree, wheel_.script), await add(tree, source.script)

    assert done.exit_code == 0, done.output
    assert (await bash(tree, IMPORT.format("tinypkg"))).output == "small\n"
    assert refused.exit_code != 0
    assert "No matching distribution" in refused.output
    assert not [path for path in served.asked if "built-1.0" in str(path)]


async def test_a_second_one_adds_to_the_first_also_after_the_run_was_parked(ground, served):
    _, tree = await ground.run(policy=NOTHING)
    await add(tree, "mkdir /setup/one")
    await ground.source().discard(forget=False, parked=True)
    _, tree = await ground.run(policy=NOTHING)

    done = await add(tree, "mkdir /setup/two; exit 3")

    assert done.exit_code == 3
    assert (await bash(tree, "ls -d /setup/one /setup/two")).exit_code == 0
    assert await tree.list_install_commands() == ("mkdir /setup/one", "mkdir /setup/two; exit 3")


async def test_neither_other_runs_nor_the_cache_see_it_and_it_goes_with_its_run(ground, served):
    _, one = await ground.run(policy=MODULES)
    before = _state(ground.entries()[0])
    evil = "echo evil | tee node_modules/a/x ~/.tool/x /setup/b/x"
    assert "evil" in (await add(one, evil)).output

    _, two = await ground.run(policy=MODULES, run_id="run-2")
    other = await bash(two, "ls -A node_modules/a ~/.tool /setup/b | grep x")

    assert "evil" in (await bash(one, "cat node_modules/a/x ~/.tool/x /setup/b/x")).output
    assert other.output == ""
    assert await two.list_install_commands() == ()
    assert len(ground.entries()) == 2
    [shared] = [entry for entry in ground.entries() if "-ok-" in entry.name]
    assert _state(shared) == before
    await ground.source().discard(forget=True)
    assert ground.entries() == [shared]


async def test_quality_checks_see_it_when_the_tree_is_as_the_commit_has_it(ground, served):
    _, tree = await ground.run(policy=MODULES)
    await add(tree, "echo 1 >node_modules/a/new")

    await tree.restore(ground.base, pristine=True)

    assert (await bash(tree, "cat node_modules/a/new")).output == "1\n"


@has_npm
async def test_npm_installs_into_folders_that_there_were_none_of(ground, served):
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        text = json.dumps({"name": "small", "version": "1.0.0"}).encode()
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(text)
        archive.addfile(entry, BytesIO(text))
    dist = {"tarball": f"{served.url}/small-1.0.0.tgz"}
    about = {"name": "small", "version": "1.0.0", "dist": dist}
    page = {"name": "small", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}}
    served.page("/small", json.dumps(page), Content_Type="application/json")
    served.page("/small-1.0.0.tgz", packed.getvalue(), Content_Type="application/octet-stream")
    ground.commit({"package.json": "{}"})
    _, tree = await ground.run(policy=NOTHING)

    done = await add(tree, "npm install --no-audit --no-fund small")
    await tree.restore(ground.base, pristine=True)
    seen = await bash(tree, "ls node_modules; touch node_modules/.cache/x")

    assert done.exit_code == 0, done.output
    assert seen.output.split() == ["small"]
    assert seen.exit_code == 0


async def test_what_is_appended_reaches_nobody_and_cannot_send(ground, served, canary, index):
    other = await index("127.0.0.1", tls=False)
    _, tree = await ground.run(policy=NOTHING)
    places = [("127.0.0.1", canary.port), ("203.0.113.5", 443), ("example.com", 443)]
    send = (
        'python3 -c "import os, urllib.request as r; h = r.build_opener(r.ProxyHandler('
        "{'http': os.environ['HTTP_PROXY']}))\n"
        f"for at, data in (('{served.url}/simple/', b'secret'), ('{other.url}/', None),"
        f" ('http://localhost:{canary.port}/', None)):\n"
        "    try: print('SENT', h.open(at, data, timeout=5).status)\n"
        '    except Exception as error: print(error)"'
    )

    done = await add(tree, f"true; {REACH.format(places=places)}\n{send}")

    assert "REACHED" not in done.output
    assert "SENT" not in done.output
    assert "HTTP Error 405" in done.output
    assert canary.visits == 0
    assert other.asked == []
    assert {method for method, _, _ in served.asked} <= {"GET", "HEAD"}
    assert f"localhost:{canary.port} is not a package index" in done.output


async def test_hosts_of_the_operator_are_read_from_and_sent_nothing(ground, index):
    served = await index("localhost")
    served.page("/tool.tgz", "packed")
    bundle = ground.place / "authority.pem"
    bundle.write_text(index.authority.pem)
    ground.indexes(REQUESTS_CA_BUNDLE=str(bundle), hosts=(f"localhost:{served.port}",))
    _, tree = await ground.run(policy=NOTHING)

    done = await add(
        tree,
        "python3 - <<'END'\nimport urllib.request as r\n"
        f"print(r.urlopen('{served.url}/tool.tgz', timeout=5).read())\n"
        f"try: print('SENT', r.urlopen('{served.url}/', b'secret', timeout=5).status)\n"
        "except Exception as error: print(error)\nEND",
    )

    assert "b'packed'" in done.output
    assert "HTTP Error 405" in done.output
    assert [method for method, _, _ in served.asked] == ["GET"]


async def test_the_next_command_and_what_was_left_running_have_no_network(ground, served, canary):
    _, tree = await ground.run(policy=NOTHING)
    asks = (
        "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET %s HTTP/1.1\\r\\nHost: localhost:"
        f"{served.port}\\r\\n\\r\\n' $1 >&3 && read -r -t 20 line <&3"
    )
    await tree.write("ask.sh", asks.encode())
    loop = f"while sleep 0.1; do bash ask.sh {served.url}/late; done"
    once = f"bash ask.sh {served.url}/late"  # returns when it was answered
    await add(tree, f"{once}; setsid bash -c '{loop}' >/dev/null 2>&1 & {once}")
    early = len(served.asked)

    seen = await bash(tree, f"env; ls /run; bash ask.sh {served.url}/next; sleep 1")

    assert "/late" in [path for _, path, _ in served.asked]
    assert len(served.asked) == early
    assert "http_proxy" not in seen.output.lower()
    assert "PIP_INDEX_URL" not in seen.output


async def test_what_did_not_end_by_itself_is_not_kept(ground, served):
    _, tree = await ground.run(policy=MODULES)

    done = await add(tree, "echo half >node_modules/a/x; sleep 60", timeout=3)

    assert done.why == "timeout"
    assert "nothing of what it installed is kept" in done.output
    assert (await bash(tree, "ls -A node_modules/a")).output == ""
    assert await tree.list_install_commands() == ()
    assert not list(ground.place.glob("setups/*/adding-*"))


async def test_what_a_process_that_died_left_half_done_goes_with_the_next(ground, served):
    _, tree = await ground.run(policy=MODULES)
    left = ground.store.make_addition_folder("1", ground.source()._furnisher._owner)

    await add(tree, "true")

    assert not left.exists()


async def test_links_that_it_leaves_lead_nowhere(ground, served):
    secret = ground.place / "secret"
    secret.write_text("canary-value-of-ours")
    _, tree = await ground.run(policy=MODULES)

    await add(
        tree,
        f"ln -s {secret} node_modules/s; rm -rf ~/.tool; ln -s {ground.place} ~/.tool;"
        f" ln -s {ground.place} /setup/p; rmdir node_modules/.cache; ln -s {ground.place}"
        " node_modules/.cache; chmod 777 /setup; mkfifo /setup/pipe; exit 0",
    )
    seen = await bash(
        tree, "cat node_modules/s; ls /setup/p/ ~/.tool/ node_modules/.cache/; ls /setup"
    )

    assert "canary-value-of-ours" not in seen.output
    assert "somebody" not in seen.output  # the repository beside it
    assert "pipe" not in seen.output
    for folder, _, files in os.walk(ground.entries()[-1]):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            if "/home/" not in path:  # there, runs add to layers, whose floor is the sandbox's
                assert os.lstat(path).st_uid == os.geteuid()


async def test_a_sandbox_that_cannot_hold_it_to_indexes_does_not_run_it(ground):
    class Weak:
        name, level = "weak", "none"

        def __init__(self, owner):
            self.owner = owner

    weak = ground.set_ups(sandbox=Weak(ground.sandbox.owner)).for_run("1", ground.mirror, "run-1")

    with pytest.raises(ToolError, match="was not run although it was approved"):
        async with weak.open_addition(
            ground.base, NOTHING, ground.sandbox, ["bash", "-c", "pip install x"]
        ):
            raise AssertionError("it was let in")
