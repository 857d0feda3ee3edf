"""An index that a repository names, and nobody configured: no other is asked for the package."""

import json
import subprocess

import pytest

from agents.pipelines.remediate.ladder import Refusal, climb, ecosystem_of
from agents.pipelines.remediate.ladder.npm.registry import Registry
from tests.agents.pipelines.remediate.ladder.conftest import (
    PUBLIC_OF_NPM,
    PUBLIC_OF_PIP,
    PUBLIC_OF_YARN,
    TERMS,
    group,
)
from tests.agents.pipelines.remediate.ladder.test_hostile import PROJECT

MINE = "corp.example"
MANIFEST = json.dumps({"name": "shop", "dependencies": {"@acme/web": "^1.0.0"}})
BERRY = """\
__metadata:
  version: 8
  cacheKey: 10c0

"@acme/web@npm:^1.0.0":
  version: 1.0.0
  resolution: "@acme/web@npm:1.0.0{more}"
  checksum: 10c0/abc
  languageName: node
  linkType: hard

"shop@workspace:.":
  version: 0.0.0-use.local
  resolution: "shop@workspace:."
  dependencies:
    "@acme/web": "npm:^1.0.0"
  languageName: unknown
  linkType: soft
"""
ARCHIVE = "::__archiveUrl=https%3A%2F%2Fcorp.example%2F%40acme%2Fweb%2F-%2Fweb-1.0.0.tgz"
CLASSIC = """\
# yarn lockfile v1


"@acme/web@^1.0.0":
  version "1.0.0"
  resolved "https://{host}/@acme/web/-/web-1.0.0.tgz#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  integrity sha512-xxxx
"""
PNPM = """\
lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      '@acme/web':
        specifier: ^1.0.0
        version: 1.0.0
packages:
  '@acme/web@1.0.0':
    resolution: {integrity: sha512-x, tarball: https://HOST/@acme/web/-/web-1.0.0.tgz}
snapshots:
  '@acme/web@1.0.0': {}
"""


def lock_of_npm(host):
    web = {
        "version": "1.0.0",
        "resolved": f"https://{host}/@acme/web/-/web-1.0.0.tgz",
        "integrity": "sha512-xxxx",
    }
    packages = {"": json.loads(MANIFEST), "node_modules/@acme/web": web}
    return json.dumps({"lockfileVersion": 3, "packages": packages})


UV = """\
version = 1
revision = 3
[[package]]
name = "acme"
version = "1.0"
source = {{ registry = "https://{host}/simple" }}
[[package]]
name = "shop"
version = "0"
source = {{ virtual = "." }}
dependencies = [{{ name = "acme" }}]
"""
WANTED = PROJECT.replace("[]", '["acme==1.0"]')
CARGO = """\
version = 3

[[package]]
name = "acme"
version = "1.0.0"
source = "{source}"
checksum = "ab"

[[package]]
name = "shop"
version = "0.1.0"
dependencies = ["acme"]
"""
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
CRATE = '[package]\nname = "shop"\nversion = "0.1.0"\n[dependencies]\nacme = "1"\n'
OWN = CRATE.replace('"1"', '{ version = "1", registry = "corp" }')
GEMS = """\
GEM
  remote: https://corp.example/
  specs:
    acme (1.0.0)

PLATFORMS
  ruby

DEPENDENCIES
  acme

BUNDLED WITH
   2.4.1
"""


def lock_of_composer(host):
    web = {"name": "acme/web", "version": "1.0.0", "notification-url": f"https://{host}/downloads/"}
    return json.dumps({"packages": [web], "packages-dev": []})


def manifest_of_composer(**more):
    return json.dumps({"name": "acme/shop", "require": {"acme/web": "^1.0"}, **more})


CASES = {
    "npm's own lock": (
        "npm",
        "@acme/web",
        {"package-lock.json": lock_of_npm(MINE), "package.json": MANIFEST},
    ),
    "npm without lock": (
        "npm",
        "@acme/web",
        {"package.json": MANIFEST, ".npmrc": "@acme:registry=https://corp.example/\n"},
    ),
    "pnpm's own lock": (
        "npm",
        "@acme/web",
        {"pnpm-lock.yaml": PNPM.replace("HOST", MINE), "package.json": MANIFEST},
    ),
    "pnpm's settings": (
        "npm",
        "@acme/web",
        {
            "pnpm-lock.yaml": PNPM.replace("HOST", PUBLIC_OF_NPM),
            "package.json": MANIFEST,
            "pnpm-workspace.yaml": "registries:\n  '@acme': https://corp.example/\n",
        },
    ),
    "Yarn 1's own lock": (
        "npm",
        "@acme/web",
        {"yarn.lock": CLASSIC.format(host=MINE), "package.json": MANIFEST},
    ),
    "Yarn 1's settings": (
        "npm",
        "@acme/web",
        {
            "yarn.lock": CLASSIC.format(host=PUBLIC_OF_YARN),
            "package.json": MANIFEST,
            ".yarnrc": 'registry "https://corp.example/npm"\n',
        },
    ),
    "Yarn 4's own lock": (
        "npm",
        "@acme/web",
        {"yarn.lock": BERRY.format(more=ARCHIVE), "package.json": MANIFEST},
    ),
    "Yarn 4's settings": (
        "npm",
        "@acme/web",
        {
            "yarn.lock": BERRY.format(more=""),
            "package.json": MANIFEST,
            ".yarnrc.yml": "npmRegistryServer: https://corp.example/\n",
        },
    ),
    "uv's own lock": ("pip", "acme", {"uv.lock": UV.format(host=MINE), "pyproject.toml": PROJECT}),
    "uv's settings": (
        "pip",
        "acme",
        {
            "uv.lock": UV.format(host=PUBLIC_OF_PIP),
            "pyproject.toml": f'{PROJECT}[[tool.uv.index]]\nurl = "https://corp.example/simple"\n',
        },
    ),
    "an index beside the usual one": (
        "pip",
        "acme",
        {"requirements.txt": "--extra-index-url https://corp.example/simple\nacme==1.0\n"},
    ),
    "an index before the usual one": (
        "pip",
        "acme",
        {"pyproject.toml": f'{WANTED}[[tool.uv.index]]\nurl = "https://corp.example/simple"\n'},
    ),
    "Cargo's own lock": (
        "rust",
        "acme",
        {"Cargo.lock": CARGO.format(source="sparse+https://corp.example/i/"), "Cargo.toml": OWN},
    ),
    "Cargo's settings": (
        "rust",
        "acme",
        {
            "Cargo.lock": CARGO.format(source=CRATES_IO),
            "Cargo.toml": CRATE,
            ".cargo/config.toml": '[source.crates-io]\nreplace-with = "corp"\n'
            '[source.corp]\nregistry = "sparse+https://corp.example/index/"\n',
        },
    ),
    "Composer's own lock": (
        "composer",
        "acme/web",
        {"composer.lock": lock_of_composer(MINE), "composer.json": manifest_of_composer()},
    ),
    "Composer's manifest": (
        "composer",
        "acme/web",
        {
            "composer.lock": lock_of_composer("packagist.org"),
            "composer.json": manifest_of_composer(
                repositories={"corp": {"type": "composer", "url": "https://corp.example"}}
            ),
        },
    ),
    "Bundler's own lock": (
        "rubygems",
        "acme",
        {"Gemfile.lock": GEMS, "Gemfile": 'source "https://corp.example"\ngem "acme"\n'},
    ),
}
SETTINGS = ("pip config list", "npm config get", "yarn config get", "config.json")
"""What asks a tool for its configuration, and nobody else for anything."""


class Unconfigured:
    """Tools that are configured for the public indexes alone; `strayed` asked for a package."""

    def __init__(self):
        self.strayed = []

    def __call__(self, tree, script):
        if "UV_EXTRA_INDEX_URL:-" in script:
            return 0, "[The way to https://corp.example was refused.]\nFETTLE\n\n"
        if any(words in script for words in SETTINGS):
            public = PUBLIC_OF_YARN if "yarn config get" in script else PUBLIC_OF_NPM
            return 0, f"FETTLEhttps://{public}/\ndefaulthttps://{PUBLIC_OF_PIP}/simple\n"
        [folder] = tree.folder.glob(".fettle-*")
        staged = [path for path in folder.rglob("*") if path.is_file() and path.name[-4:] != "lock"]
        if not any("corp" in path.read_text() for path in staged):
            self.strayed.append(script)
        return 1, "corp.example cannot be reached"


@pytest.mark.parametrize("case", CASES)
async def test_no_other_index_is_asked_for_what_a_repository_takes_from_its_own(tree, case):
    ecosystem, package, files = CASES[case]
    tree.lay(files)
    tree.answers = asked = Unconfigured()
    about = group(package, "< 2.0.0", manifests=[next(iter(files))])
    about = about.model_copy(update={"ecosystem": ecosystem})

    refusal = await climb(tree, ecosystem_of(tree.paths, about), about, TERMS)

    assert isinstance(refusal, Refusal), refusal
    assert (refusal.cause, refusal.steps) == ("other_index", ())
    assert f"takes {package} from corp.example, and " in refusal.reason
    assert "Configure it on Fettle's machine, with its credentials (`" in refusal.reason
    assert not asked.strayed


@pytest.mark.parametrize(
    "more", ["package-lock.json", "with the registry named for the scope"], ids=["lock", "settings"]
)
async def test_the_public_index_does_not_learn_of_a_private_parent(tree, more):
    """A parent that may have to move is looked up as well: only where it comes from."""
    packages = {
        "": {"dependencies": {"@acme/web": "^1.0.0"}},
        "node_modules/@acme/web": {
            "version": "1.0.0",
            "resolved": f"https://{MINE}/@acme/web/-/web-1.0.0.tgz",
            "integrity": "sha512-xxxx",
            "dependencies": {"evil": "1.0.0"},
        },
        "node_modules/evil": {
            "version": "1.0.0",
            "resolved": f"https://{PUBLIC_OF_NPM}/evil/-/evil-1.0.0.tgz",
            "integrity": "sha512-yyyy",
        },
    }
    if more != "package-lock.json":
        public = f"https://{PUBLIC_OF_NPM}/@acme/web/-/web-1.0.0.tgz"
        packages["node_modules/@acme/web"]["resolved"] = public
        tree.lay({".npmrc": f"@acme:registry=https://{MINE}/\n"})
    lock = json.dumps({"lockfileVersion": 3, "packages": packages})
    tree.lay({"package.json": MANIFEST, "package-lock.json": lock})
    asked = []

    def answer(tree, script):
        if "config get" in script:
            return 0, f"FETTLEhttps://{PUBLIC_OF_NPM}/\n"
        asked.append(script)
        if "evil@>=0.0.0-0" in script:
            return 0, 'FETTLE[["1.0.0",false,"sha512-yyyy"],["1.0.1",false,"sha512-zzzz"]]'
        return 1, "npm error code ETARGET"

    tree.answers = answer
    about = group("evil", "< 1.0.1", manifests=["package-lock.json"])
    about = about.model_copy(update={"ecosystem": "npm"})

    refusal = await climb(tree, ecosystem_of(tree.paths, about), about, TERMS)

    assert isinstance(refusal, Refusal), refusal
    assert any("takes @acme/web from corp.example, and npm" in each.why for each in refusal.steps)
    assert asked
    assert not [script for script in asked if "@acme/web@>=0.0.0-0" in script]


async def test_a_host_that_a_lock_file_names_is_no_command(tree, tmp_path):
    """Its characters are anybody's: they are asked about, and never run."""
    home = tmp_path / "home"
    home.mkdir()
    stub = "npm() { printf 'https://public.example/\\n'; }\n"

    def run(tree, script):
        done = subprocess.run(
            ["bash", "-c", stub + script], cwd=home, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    tree.answers = run
    hosts = ["public.example", "a$(touch${ifs}ran).example", '";touch${ifs}ran;"']
    registry = Registry(seconds=5.0)

    assert await registry.find_unconfigured(tree, "", hosts) == min(hosts[1:])
    assert await registry.find_unconfigured(tree, "", hosts[:1]) == ""
    assert [*home.iterdir()] == []
