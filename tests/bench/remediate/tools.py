"""The package managers of a bench: fetched once, and run bare, as people run them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from backports import tarfile

from app.demo.package_index.releases import Release
from app.demo.package_index.server import LocalIndex
from tests.bench.npm import CACHE
from tests.bench.remediate.samples import BELOW, DIRECT, PARENT, SEVERAL, Sample, Trouble

HOME = CACHE / "remediate"
POETRY = "2.1.4"
PNPM = "10"
_WHEELS = ("pip>=25", "uv>=0.9", f"poetry=={POETRY}", "poetry-plugin-pypi-mirror")
_SYSTEM = "/usr/bin/python3"  # the one that sandboxes have
_PROJECT = '[project]\nname = "{name}"\nversion = "1.0"\nrequires-python = ">=3.10"\n'
_POETRY = (
    '[tool.poetry]\nname = "{name}"\nversion = "1.0"\ndescription = ""\nauthors = []\n'
    'package-mode = false\n\n[tool.poetry.dependencies]\npython = "^3.10"\n'
)
_QUIET = "--ignore-scripts --no-audit --no-fund"


class Fetched(Release):
    """A release of npm's that somebody else made."""

    @classmethod
    def from_archive(cls, file: Path) -> Fetched:
        """Return the one in this file."""
        with tarfile.open(file) as packed:
            member = packed.extractfile("package/package.json")
            assert member is not None
            about = json.load(member)
        made = cls("npm", about["name"], about["version"])
        made.__dict__ |= {"data": file.read_bytes(), "whole": about}
        return made

    @property
    def manifest(self) -> dict[str, object]:
        """Return its package.json."""
        return self.__dict__["whole"]


@dataclass(frozen=True)
class Tools:
    """What package managers there are."""

    wheels: Path
    """What the loopback index offers beside made-up releases: the managers themselves."""
    programs: Path
    pnpm: Path

    @classmethod
    def fetch(cls) -> Tools:
        """Fetch them from this machine's own indexes, unless they are there, or exit."""
        made = cls(HOME / "wheels", HOME / "programs", HOME / "pnpm")
        if not (HOME / "ready").exists():
            shutil.rmtree(HOME, ignore_errors=True)
            made._fetch()
            (HOME / "ready").touch()
        return made

    def _fetch(self) -> None:
        self.wheels.mkdir(parents=True)
        self.pnpm.mkdir()
        version = _run([_SYSTEM, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
        _run([*pip, "--python-version", version, "--dest", str(self.wheels), *_WHEELS])
        _run([_SYSTEM, "-m", "venv", "--without-pip", str(self.programs)])
        install = [sys.executable, "-m", "pip", "--python", str(self.programs / "bin" / "python")]
        offline = ["install", "--quiet", "--no-index", "--find-links", str(self.wheels)]
        _run([*install, *offline, *_WHEELS])
        _run(["npm", "pack", "--silent", f"pnpm@{PNPM}"], self.pnpm)
        [packed] = self.pnpm.glob("*.tgz")
        with tarfile.open(packed) as archive:
            archive.extractall(self.pnpm, filter="data")

    @property
    def releases(self) -> list[Release]:
        """Return those that npm's side of the index offers beside made-up ones."""
        return [Fetched.from_archive(file) for file in self.pnpm.glob("*.tgz")]

    def lay(self, sample: Sample, folder: Path, index: LocalIndex) -> dict[str, str]:
        """Make a repository as its people made it: its manifest, locked by its own manager."""
        folder.mkdir(parents=True)
        for name, text in _manifests(sample).items():
            (folder / name).write_text(text)
        command = {
            "npm": f"npm install --package-lock-only {_QUIET}",
            "pnpm": f"pnpm install --lockfile-only {_QUIET[:16]}",
            "poetry": "poetry lock",
            "uv": "uv lock",
            "pip": "true",
        }[sample.manager]
        self.run(command, folder, index)
        return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}

    def bare(self, sample: Sample, trouble: Trouble) -> str:
        """Return the command with which people move that package; empty: there is no single one."""
        if trouble is PARENT:
            return self._bare_parent(sample.manager)
        if trouble not in (DIRECT, BELOW, SEVERAL):
            return ""
        wanted, name = f"{trouble.name}@{trouble.safe}", trouble.name
        pinned = f"{name}=={trouble.safe}"
        direct = {
            "npm": f"npm install {wanted} --save-exact --package-lock-only {_QUIET}",
            "pnpm": f"pnpm add {wanted} --save-exact --lockfile-only {_QUIET[:16]}",
            "poetry": f"poetry add {pinned} --lock",
            "uv": f"uv add {pinned} --no-sync",
            "pip": f"sed -i 's/^{name}==.*/{pinned}/' requirements.txt && "
            "pip install --quiet --dry-run --ignore-installed -r requirements.txt",
        }
        below = {
            "npm": f"npm update {name} --package-lock-only {_QUIET}",
            "pnpm": f"pnpm update {wanted} --depth Infinity --lockfile-only {_QUIET[:16]}",
            "poetry": f"poetry update {name} --lock",
            "uv": f"uv lock --upgrade-package {pinned}",
            "pip": "",
        }
        return (direct if trouble.direct else below)[sample.manager]

    def _bare_parent(self, manager: str) -> str:
        """Return the command for who knows already which parent has to move, and to where."""
        return {
            "npm": f"npm update {PARENT.above} --package-lock-only {_QUIET}",
            "pnpm": f"pnpm update {PARENT.above}@1.1.0 --lockfile-only {_QUIET[:16]}",
            "poetry": f"poetry update {PARENT.above} {PARENT.name} --lock",
            "uv": f"uv lock --upgrade-package {PARENT.above} --upgrade-package {PARENT.name}",
            "pip": "",
        }[manager]

    def run(self, command: str, folder: Path, index: LocalIndex) -> None:
        """Run a command bare: no sandbox, no copy, no proof."""
        scripts = 'poetry() { python -m poetry "$@"; }; pip() { python -m pip "$@"; }; '
        scripts += f'pnpm() {{ node {self.pnpm}/package/bin/pnpm.cjs "$@"; }}; '
        environment = {
            **index.environment,
            "PATH": f"{self.programs / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(HOME),
            "POETRY_PYPI_MIRROR_URL": f"{index.url}/simple",
            "POETRY_VIRTUALENVS_CREATE": "false",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        _run(["bash", "-c", scripts + command], folder, environment)


def _run(
    command: list[str], folder: Path | None = None, environment: dict[str, str] | None = None
) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-600:]
        raise SystemExit(f"{' '.join(command)[:300]}\n  failed: {said}")
    return done.stdout.strip()


def _manifests(sample: Sample) -> dict[str, str]:
    asked = sample.asked
    if sample.kind == "npm":
        about = {"name": sample.name, "version": "1.0.0", "dependencies": asked}
        return {"package.json": json.dumps(about, indent=2) + "\n"}
    if sample.manager == "poetry":
        lines = "".join(f'{name} = "{spec}"\n' for name, spec in asked.items())
        return {"pyproject.toml": _POETRY.format(name=sample.name) + lines}
    specs = [f"{name}{_python(spec)}" for name, spec in asked.items()]
    if sample.manager == "pip":
        return {"requirements.txt": "".join(f"{each}\n" for each in specs)}
    return {"pyproject.toml": _PROJECT.format(name=sample.name) + f"dependencies = {specs}\n"}


def _python(spec: str) -> str:
    return f">={spec[1:]},<2" if spec.startswith("^") else f"=={spec}"
