"""Set-up commands run what strangers wrote: what they may try, and that it comes to nothing."""

import asyncio
import os
import socket

import pytest

from agents.policy import Policy
from app.sandbox.user_slots import UserSlots
from tests.app.dependencies.install.conftest import bash

INSTALL = "mkdir -p node_modules/a ~/.tool /setup/b && touch node_modules/a/x ~/.tool/x /setup/b/x"
REACH = """python3 - <<'END'
import socket
for place in {places}:
    try:
        socket.create_connection(place, 2).close()
        print("REACHED", place)
    except OSError as error:
        print("no", error)
END"""


async def test_commands_reach_nobody_but_the_indexes(ground, index, canary):
    served = await index("localhost", tls=False)
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple")
    places = [("127.0.0.1", canary.port), ("203.0.113.5", 443), ("example.com", 443)]
    tunnel = (
        f"for at in localhost:{canary.port} 127.0.0.1:{canary.port} example.com:443; do "
        'python3 -c "import os, sys, urllib.request as r; '
        "h = r.build_opener(r.ProxyHandler({'http': os.environ['HTTP_PROXY']})); "
        "print(h.open('http://' + sys.argv[1], timeout=5).status)\" $at 2>&1 | tail -1; done"
    )

    result, _ = await ground.run(REACH.format(places=places), tunnel)

    said = "".join(command.output for command in result.commands)
    assert canary.visits == 0
    assert "REACHED" not in said
    assert said.count("HTTP Error 403") == 3, said
    assert f"localhost:{canary.port} is not a package index" in result.notes[0]
    assert "FETTLE_SETUP_HOSTS" in result.notes[0]


async def test_what_the_repository_says_of_indexes_widens_nothing(ground, index, canary):
    served = await index("localhost", tls=False)
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple", NPM_CONFIG_REGISTRY=served.url)
    there = f"http://localhost:{canary.port}"
    npm = "npm install --fetch-retries=0 --no-audit"
    ground.commit({
        "requirements.txt": f"--index-url {there}/simple\nsomething\n",
        ".npmrc": f"registry={there}/\n",
        "package.json": '{"name": "a", "version": "1.0.0", "dependencies": {"b": "1.0.0"}}',
        "deps.sh": f"{npm}; {npm} --registry {there}\n"
                   "python3 -m pip install --target /setup/x --retries 0 -r requirements.txt\n",
    })  # fmt: skip

    result, _ = await ground.run("bash deps.sh")

    assert canary.visits == 0
    assert len(result.problems) == 1
    assert f"localhost:{canary.port} is not a package index" in result.notes[0]
    assert "/b" in [path for _, path, _ in served.asked]  # where the operator's npm leads


async def test_commands_see_nothing_of_ours(ground, monkeypatch):
    monkeypatch.setenv("FETTLE_CANARY", "canary-value-of-ours")
    secret = ground.place / "secret"
    secret.write_text("canary-value-of-ours")

    look = (
        "env; cat /proc/*/environ | tr '\\0' '\\n'; tr '\\0' ' ' </proc/1/cmdline; id -u;"
        f" cat {secret}; cat /proc/1/root{secret}; ls -la /workspace/.. /root /home"
    )
    result, _ = await ground.run(f"{look}; true")

    said = result.commands[0].output
    assert "PATH=" in said
    assert "canary-value-of-ours" not in said
    assert str(ground.place) not in said.replace(str(secret), "")


async def test_secrets_that_get_into_the_output_are_taken_out(ground):
    ground.redactor.add("hunter2-hunter2")
    ground.commit({"notes.txt": "the password is hunter2-hunter2"})

    result, _ = await ground.run("cat notes.txt; exit 1")

    assert "hunter2" not in result.model_dump_json()
    assert "the password is [redacted]" in result.commands[0].output


async def test_nothing_outside_changes_and_nothing_goes_on(ground, canary):
    outside = ground.place / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    knock = f"(sleep 1; exec 3<>/dev/tcp/127.0.0.1/{canary.port}) >/dev/null 2>&1 &"
    write = f"touch {outside}/x /usr/x /etc/x /x; true"

    result, _ = await ground.run(f"setsid bash -c '{knock}' & {write}", "sleep 2 & disown; true")
    await asyncio.sleep(1.5)

    assert result.problems == ()
    assert list(outside.iterdir()) == []
    assert canary.visits == 0


async def test_links_out_of_the_result_lead_nowhere(ground):
    secret = ground.place / "secret"
    secret.write_text("canary-value-of-ours")
    result, tree = await ground.run(
        f"mkdir node_modules && ln -s {secret} node_modules/s && ln -s {ground.place} ~/.tool",
        f"ln -s {ground.place} /setup/p && rm -rf ~/.cache && ln -s / ~/.cache",
        "mkfifo node_modules/pipe; mkdir -p ~/.local && ln -s /etc ~/.local/share",
        "mkdir ~/.config && echo key >~/.config/settings && echo key >~/.netrc",
    )

    seen = await bash(
        tree,
        "cat node_modules/s; ls /setup/p/ ~/.tool/; ls -A node_modules ~;"
        " cat ~/.config/settings ~/.netrc; ls -A ~/.cache ~/.local/share | sed s/^/FOUND-/",
    )

    assert result.problems == ()
    assert "canary-value-of-ours" not in seen.output
    assert "secret" not in seen.output.replace(str(secret), "")
    assert "pipe" not in seen.output
    assert "key" not in seen.output
    assert "FOUND-" not in seen.output
    with pytest.raises(Exception, match="symbolic link"):
        await tree.read("node_modules/s")


@pytest.mark.parametrize("place", ["node_modules", "made.txt"])
async def test_a_link_in_the_place_of_a_result_is_not_followed(ground, place):
    private = ground.place / "private"
    private.mkdir()
    (private / "secret").write_text("canary-value-of-ours")
    ground.commit({".gitignore": "node_modules\nmade.txt\n"})

    _, tree = await ground.run(f"ln -s {private} node_modules; ln -s {private}/secret made.txt")

    assert "secret" not in (await bash(tree, f"ls {place}; ls {place}/")).output.replace(place, "")
    assert "canary" not in (await bash(tree, f"cat {place} {place}/secret")).output


async def test_runs_cannot_change_what_other_runs_see(ground):
    _, one = await ground.run(INSTALL)
    before = _state(ground.entries()[0])

    tried = await bash(
        one,
        "for at in node_modules/a /setup/b; do"
        " echo evil >$at/x && echo WROTE; touch $at/new && echo WROTE; rm -rf $at/x && echo WROTE;"
        " chmod 777 $at && echo WROTE; mv $at $at.old && echo WROTE; done;"
        " mv node_modules nm && echo WROTE; mv ~/.tool ~/t && echo WROTE;"
        " rm -rf node_modules /setup; exit 0",
    )
    # What lies at home a run may add to, in a layer that is its own.
    own = "cd ~/.tool && echo evil >x && touch new && chmod 777 . && rm x && ls"
    assert (await bash(one, own)).output == "new\n"
    _, two = await ground.run(INSTALL, run_id="run-2")

    assert "WROTE" not in tried.output
    held = (await bash(one, "grep -E 'node_modules |/setup|tool' /proc/self/mounts")).output
    modes = {line.split()[1]: line.split()[3].split(",")[0] for line in held.splitlines()}
    assert modes == {
        "/setup": "ro",
        "/workspace/node_modules": "ro",
        "/home/agent/.tool": "rw",
    }
    assert _state(ground.entries()[0]) == before
    seen = await bash(two, "ls -A node_modules/a /setup/b ~/.tool; cat node_modules/a/x")
    assert seen.output.split() == [
        "/home/agent/.tool:",
        "x",
        "/setup/b:",
        "x",
        "node_modules/a:",
        "x",
    ]


async def test_what_runs_see_belongs_to_us(ground):
    modes = "chmod 777 /setup/b/x && chmod 0 ~/.tool && { chmod u+s /setup/b/x || true; }"
    result, _ = await ground.run(f"{INSTALL} && {modes}")

    assert result.problems == ()

    for folder, _, files in os.walk(ground.entries()[0]):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            about = os.lstat(path)
            # Below a layer the kernel asks who owns it; only the way there has to be ours.
            layered = f"{path}/".startswith(f"{ground.entries()[0]}/home/.tool/")
            users = (
                UserSlots(ground.sandbox.owner[0]).users if os.geteuid() == 0 else [os.geteuid()]
            )
            assert about.st_uid in (users if layered else [os.geteuid()])
            assert about.st_mode & 0o7022 == 0


@pytest.mark.parametrize(
    "replace",
    [
        "ln -s {private} packages/a/node_modules",
        "echo a file >packages/a/node_modules",
        "rm -rf packages && ln -s {private} packages",
    ],
)
async def test_what_an_agent_puts_in_the_place_of_a_mount_is_left_alone(ground, replace):
    private = ground.place / "private"
    (private / "a").mkdir(parents=True)
    (private / "secret").write_text("canary-value-of-ours")
    ground.commit({"packages/a/package.json": "{}"})
    _, tree = await ground.run("mkdir packages/a/node_modules && touch packages/a/node_modules/x")
    ours = tree.files / "packages" / "a" / "node_modules"
    # With its mount in place a command cannot do this; whoever finds a way is no better off.
    script = f"rm -rf {ours}; cd {tree.files} && {replace.format(private=private)}"
    subprocess_ = await asyncio.create_subprocess_exec("bash", "-c", script)
    assert await subprocess_.wait() == 0

    seen = await bash(tree, "ls packages/a/node_modules packages/a/node_modules/")

    assert "secret" not in seen.output
    assert "[What was installed in `packages/a/node_modules` is not there:" in seen.output
    assert sorted(p.name for p in private.iterdir()) == ["a", "secret"]
    assert list((private / "a").iterdir()) == []
    await tree.restore(ground.base, pristine=True)
    assert (await bash(tree, "ls packages/a/node_modules")).output.strip() == "x"


async def test_runs_have_no_network_and_no_way_to_the_indexes(ground, index, canary):
    served = await index("localhost", tls=False)
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple")
    _, tree = await ground.run("mkdir /setup/x")

    places = [("127.0.0.1", canary.port), ("127.0.0.1", served.port), ("127.0.0.1", 3128)]
    seen = await bash(tree, f"env; ls /run; {REACH.format(places=places)}")

    assert canary.visits == 0
    assert "REACHED" not in seen.output
    assert "http_proxy" not in seen.output.lower()
    assert "PIP_INDEX_URL" not in seen.output


async def test_a_set_up_ends_when_its_time_is_up(ground):
    policy = Policy.model_validate({"setup": {"run": ["sleep 60", "touch /setup/x"], "timeout": 1}})

    result, tree = await ground.run(policy=policy)

    assert result.problems == ("`sleep 60` was stopped: the set-up took longer than its 1 s.",)
    assert (await bash(tree, "ls /setup/x")).exit_code != 0


def _state(folder):
    found = {}
    for current, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = f"{current}/{name}"
            about = os.lstat(path)
            found[path] = (about.st_mode, about.st_uid, about.st_size, about.st_mtime_ns)
    found.pop(f"{folder}/manifest.json")
    return found


def test_the_canary_can_be_reached_from_here(canary):
    with socket.create_connection(("127.0.0.1", canary.port), 2):
        pass


async def test_results_of_any_depth_and_number_and_name_are_kept_or_reported(ground):
    deep = (
        "python3 -c \"import os\nos.mkdir('node_modules'); os.chdir('node_modules')\n"
        "for _ in range(1500): os.mkdir('d'); os.chdir('d')\""
    )
    odd = "mkdir -p $'a\\xff/node_modules' $'\\e[31m/node_modules' && touch $'b\\xff.txt'; exit 0"

    result, tree = await ground.run(deep)
    named, _ = await ground.run(odd, run_id="run-2")

    assert len(result.problems) == 1
    assert "deep" in result.problems[0]
    assert (await bash(tree, "ls node_modules")).exit_code != 0
    assert named.problems == ()
    assert list(ground.place.glob("setups/*/new-*")) == []
