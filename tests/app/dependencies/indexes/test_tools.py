"""What each tool is configured for, out of its own mouth or its own files."""

import json
import subprocess
import venv

import pytest

from agents.analysis.languages.python import _FIND_PIP
from app.dependencies.indexes.cargo import cargo_indexes
from app.dependencies.indexes.go import go_indexes
from app.dependencies.indexes.npm import RC, npm_indexes, yarn_indexes
from app.dependencies.indexes.pip import default_index, pip_indexes, pip_options
from app.dependencies.indexes.result import key_path
from app.dependencies.indexes.uv import uv_indexes
from app.dependencies.loopback_bridge import CARGO

PIP_HELP = """
  -i, --index-url <url>  Base URL of the Python Package Index (default
                         https://born.example/simple). This should point to
"""
UV_HELP = """
      --default-index <DEFAULT_INDEX>
          The default package index (by default: <https://born.example/simple>).
"""


def urls(made):
    return [index.url for index in made.indexes]


def headers(made):
    return [key.header.get_secret_value() for index in made.indexes for key in index.keys]


def install_pip(folder):
    """Install the pip that Python brings along; return the script that pip writes for itself."""
    venv.create(folder)
    python = folder / "bin/python"
    found = subprocess.run([python, "-c", _FIND_PIP], capture_output=True, text=True, check=True)
    wheel = found.stdout.strip()
    more = ["--quiet", "--no-compile", "--no-index", "--no-deps", wheel]
    subprocess.run([python, f"{wheel}/pip", "--isolated", "install", *more], check=True)
    return folder / "bin/pip"


# --- pip ------------------------------------------------------------------------------------------


async def test_pip_says_what_it_is_configured_for(machine):
    machine.prints(
        "pip",
        config="global.index-url='https://files.example/simple'\n"
        "global.extra-index-url='https://more.example/a\\nhttp://plain.example:8080/simple'\n"
        "install.index-url='https://install.example/simple'\n"
        "global.trusted-host='odd.example'\nglobal.cert='/etc/odd.pem'\nglobal.proxy='x'",
    )
    made = await pip_indexes(machine.operator())
    assert made.environment["PIP_INDEX_URL"] == "https://install.example/simple"
    assert made.environment["PIP_EXTRA_INDEX_URL"] == (
        "https://more.example/a http://plain.example:8080/simple"
    )
    assert made.environment["PIP_TRUSTED_HOST"] == "odd.example plain.example:8080"
    assert made.certificates == ["/etc/odd.pem"]
    assert "proxy" in made.notes[0]


async def test_pips_variables_win_over_its_files(machine):
    machine.prints("pip", config="global.index-url='a'\n:env:.index-url='https://env.example/s'")
    assert urls(await pip_indexes(machine.operator())) == ["https://env.example/s"]


async def test_an_unconfigured_pip_says_where_it_was_born_to_go(machine):
    machine.prints("pip", config="", install=PIP_HELP)
    assert urls(await pip_indexes(machine.operator())) == ["https://born.example/simple"]


async def test_pips_own_code_tells_what_pip_prints(machine, tmp_path, monkeypatch):
    pip = install_pip(tmp_path / "env")
    trap = tmp_path / "repository/pip/__init__.py"
    trap.parent.mkdir(parents=True)
    trap.write_text("raise SystemExit('a repository had its own pip loaded')")
    monkeypatch.chdir(trap.parents[1])
    file = "[global]\nindex-url = https://file.example/simple\n[install]\nfind-links = /a\n"
    machine.write(".config/pip/pip.conf", file)
    machine.environ["PIP_EXTRA_INDEX_URL"] = "https://one.example/s https://two.example/s"
    machine.program("pip", f'exec {pip} "$@"')
    printed = await pip_options(machine.operator()), await default_index(machine.operator())
    (machine.programs / "pip").write_bytes(pip.read_bytes())
    operator = machine.operator()
    assert (await pip_options(operator), await default_index(operator)) == printed
    assert {question[1] for question in operator._answers} == {"-c"}, "pip itself was not asked"
    assert printed[0]["index-url"] == "https://file.example/simple"
    assert printed[0]["extra-index-url"].endswith("https://two.example/s")
    assert printed[1].startswith("https://")


async def test_a_pip_with_something_of_its_own_is_asked_itself(machine):
    """Such as one by which a company sets variables for everybody."""
    machine.prints("pip", config="global.index-url='https://corp.example/simple'")
    made = (
        "#!/usr/bin/python3\nimport os\nprint(\"global.index-url='https://corp.example/simple'\")\n"
    )
    (machine.programs / "pip").write_text(made)
    assert urls(await pip_indexes(machine.operator())) == ["https://corp.example/simple"]


async def test_uv_knows_the_same_where_there_is_no_pip(machine):
    machine.prints("uv", help=UV_HELP)
    assert await default_index(machine.operator()) == "https://born.example/simple"


async def test_without_pip_its_variables_are_read(machine):
    machine.environ["PIP_INDEX_URL"] = "https://env.example/simple"
    assert urls(await pip_indexes(machine.operator())) == ["https://env.example/simple"]


async def test_where_nobody_knows_it_is_said(machine):
    made = await pip_indexes(machine.operator())
    assert urls(made) == []
    assert "PIP_INDEX_URL" in made.notes[0]


async def test_credentials_in_a_url_become_a_key(machine):
    url = "https://bot:hunt%40r2@private.example/api/team/simple"
    machine.prints("pip", config=f"global.index-url='{url}'")
    made = await pip_indexes(machine.operator())
    assert urls(made) == ["https://private.example/api/team/simple"]
    assert made.indexes[0].keys[0].path == "/api/team/"
    assert headers(made) == ["Basic Ym90Omh1bnRAcjI="]
    assert "hunt" not in f"{made}"


async def test_the_netrc_is_a_key_too(machine):
    machine.write(".netrc", "machine private.example login bot password hunter22\n").chmod(0o600)
    machine.prints("pip", config="global.index-url='https://private.example/simple/'")
    made = await pip_indexes(machine.operator())
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]


async def test_folders_are_indexes_too(machine, tmp_path):
    config = f"global.find-links='{tmp_path}'\nglobal.extra-index-url='file://{tmp_path}/simple'"
    machine.prints("pip", config=config, install=PIP_HELP)
    made = await pip_indexes(machine.operator())
    assert made.folders == [tmp_path / "simple", tmp_path]
    assert made.environment["PIP_FIND_LINKS"] == str(tmp_path)


async def test_what_is_no_index_is_said_without_its_password(machine):
    machine.prints("pip", config="global.index-url='ssh://bot:hunter22@host.example/x'")
    made = await pip_indexes(machine.operator())
    assert urls(made) == []
    assert "hunter22" not in str(made.notes)
    assert "host.example" in str(made.notes)


# --- uv -------------------------------------------------------------------------------------------


async def test_uvs_file(machine):
    machine.write(
        ".config/uv/uv.toml",
        '[[index]]\nname = "team"\nurl = "https://team.example/simple"\n'
        '[[index]]\nurl = "https://first.example/simple"\ndefault = true\n',
    )
    machine.environ |= {"UV_INDEX_TEAM_USERNAME": "bot", "UV_INDEX_TEAM_PASSWORD": "hunter22"}
    made = await uv_indexes(machine.operator())
    assert made.environment["UV_DEFAULT_INDEX"] == "https://first.example/simple"
    assert made.environment["UV_INDEX"] == "team=https://team.example/simple"
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]


async def test_uvs_variables(machine):
    machine.environ["UV_DEFAULT_INDEX"] = "https://env.example/simple?a=b"
    machine.environ["UV_INDEX"] = "named=https://u:pw123456@n.example/s https://m.example/s"
    made = await uv_indexes(machine.operator())
    assert made.environment["UV_DEFAULT_INDEX"] == "https://env.example/simple?a=b"
    assert made.environment["UV_INDEX"] == "named=https://n.example/s https://m.example/s"


async def test_an_unconfigured_uv_gets_pips_mirror(machine):
    machine.prints("pip", config="global.index-url='https://mirror.example/simple'")
    made = await uv_indexes(machine.operator())
    assert made.environment["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"


# --- npm ------------------------------------------------------------------------------------------


def npm(machine, **options):
    machine.prints("npm", config=json.dumps(options))


async def test_npm_says_what_it_is_configured_for(machine):
    npm(
        machine,
        **{"registry": "https://npm.example/", "@team:registry": "https://team.example/npm/"},
        cafile="/etc/odd.pem",
        ca=["PEM"],
    )
    made = await npm_indexes(machine.operator())
    assert urls(made) == ["https://npm.example/", "https://team.example/npm/"]
    assert made.files[RC] == (
        "registry=https://npm.example/\n@team:registry=https://team.example/npm/\n"
    )
    assert made.environment["npm_config_registry"] == "https://npm.example/"
    assert made.certificates == ["/etc/odd.pem"]
    assert made.authorities == ["PEM"]


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        ("//npm.example/team/:_authToken=${TOKEN}", "Bearer hunter22"),
        ("//npm.example/:_authToken=hunter22", "Bearer hunter22"),
        ("//npm.example/team/:_auth=Ym90Omh1bnRlcjIy", "Basic Ym90Omh1bnRlcjIy"),
        (
            "//npm.example/team/:username=bot\n//npm.example/team/:_password=aHVudGVyMjI=",
            "Basic Ym90Omh1bnRlcjIy",
        ),
    ],
)
async def test_npms_keys_are_read_from_its_file(machine, lines, header):
    machine.environ["TOKEN"] = "hunter22"
    rc = machine.write("my.npmrc", f"{lines}\n//other.example/:_authToken=not-this-one\n")
    npm(machine, registry="https://npm.example/team/", userconfig=str(rc))
    made = await npm_indexes(machine.operator())
    assert headers(made) == [header]
    assert made.indexes[0].keys[0].path == "/team/"
    assert "hunter22" not in f"{made}"


async def test_a_key_for_another_part_of_the_host_stays_at_home(machine):
    rc = machine.write("my.npmrc", "//npm.example/admin/:_authToken=hunter22\n")
    npm(machine, registry="https://npm.example/team/", userconfig=str(rc))
    assert headers(await npm_indexes(machine.operator())) == []


async def test_without_npm_its_variables_and_file_are_read(machine):
    machine.write(".npmrc", "registry = https://file.example/\n")
    assert urls(await npm_indexes(machine.operator())) == ["https://file.example/"]
    machine.environ["npm_config_registry"] = "https://env.example/"
    assert urls(await npm_indexes(machine.operator())) == ["https://env.example/"]


async def test_yarn_may_have_a_registry_of_its_own(machine):
    npm(machine, registry="https://npm.example/")
    machine.prints("yarn", config="https://yarn.example")
    made = await yarn_indexes(machine.operator())
    assert set(urls(made)) == {"https://npm.example/", "https://yarn.example"}


# --- cargo and Go ---------------------------------------------------------------------------------


async def test_cargos_file_goes_in_without_its_tokens(machine):
    machine.write(
        ".cargo/config.toml",
        '[source.crates-io]\nreplace-with = "mirror"\n'
        '[source.mirror]\nregistry = "sparse+https://u:hunter22@crates.example/index/"\n'
        '[registries.team]\nindex = "sparse+https://team.example/"\ntoken = "hunter22"\n'
        '[registries.old]\nindex = "https://git.example/index"\n',
    )
    made = await cargo_indexes(machine.operator())
    assert urls(made) == ["https://team.example/", "https://crates.example/index/"]
    assert made.indexes[1].stands_for == ("https://index.crates.io/",)
    team = '[registries."team"]\nindex = "sparse+https://team.example/"\n'
    assert made.files[CARGO] == f'{team}[registries."old"]\nindex = ""\n'
    assert "hunter22" not in f"{made}"
    assert "git index" in made.notes[0]
    assert len(made.notes) == 1


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ('[source.a]\nreplace-with = "b"\n[source.b]\nregistry = "sparse+https://b.example/"\n', 1),
        ('[registries.a]\nindex = "sparse+https://b.example/"\n', 2),
        ('[source.a]\nreplace-with = "crates-io"\n', 0),
        ('[source.a]\nreplace-with = "a"\n', 0),
        ('[source.a]\nregistry = "https://git.example/x"\n', 0),
        ('[source.a]\ndirectory = "/usr/share/cargo/registry"\n', 0),
        ("", 0),
    ],
)
async def test_whoever_replaces_cargos_index_gets_no_other(machine, lines, found):
    replaced = f'[source.crates-io]\nreplace-with = "a"\n{lines}'
    machine.write(".cargo/config.toml", replaced)
    made = await cargo_indexes(machine.operator())
    assert urls(made) == ["https://b.example/"] * found
    assert "https://index.crates.io" not in str(urls(made))


async def test_an_unconfigured_cargo_has_its_public_index(machine):
    made = await cargo_indexes(machine.operator())
    assert urls(made) == ["https://index.crates.io/"]
    assert not made.notes


async def test_go_says_where_its_modules_are(machine):
    proxies = "https://u:hunter22@go.example,https://more.example|direct"
    machine.prints("go", env=json.dumps({"GOPROXY": proxies, "GOSUMDB": "sum.example+key"}))
    made = await go_indexes(machine.operator())
    assert made.environment["GOPROXY"] == "https://go.example,https://more.example"
    assert urls(made)[-1] == "https://sum.example"
    assert "hunter22" not in f"{made}"


async def test_without_go_there_is_no_way(machine):
    made = await go_indexes(machine.operator())
    assert made.environment["GOPROXY"] == "off"
    assert "GOPROXY" in made.notes[0]


# --- whom tools obey ------------------------------------------------------------------------------


async def test_tools_are_asked_far_from_any_repository(machine, hostile):
    """npm and uv read files of the folder they stand in."""
    machine.program("npm", 'echo "{\\"registry\\": \\"https://here.example$PWD\\"}"')
    assert urls(await npm_indexes(machine.operator())) == ["https://here.example/"]


async def test_tools_get_no_secret_of_ours(machine):
    machine.environ |= {"FETTLE_PRIVATE_KEY": "canary", "ANTHROPIC_API_KEY": "canary"}
    machine.program("npm", 'env >&2; env | grep -c canary | sed \'s/.*/{"registry": "n&"}/\'')
    answer = await machine.operator().ask("npm", "config")
    assert answer == '{"registry": "n0"}\n'


@pytest.mark.parametrize(
    ("url", "kind", "path"),
    [
        ("https://a.example/simple", "simple", "/"),
        ("https://a.example/api/team/simple/", "simple", "/api/team/"),
        ("https://a.example/npm/team/", "npm", "/npm/team/"),
        ("https://a.example", "npm", "/"),
    ],
)
def test_where_a_key_is_sent(url, kind, path):
    assert key_path(url, kind) == path
