"""The programs that the gate has rules about, as data; any other program runs.

A line is a program, or a program with the operands that make it what the rule is about. `…` says
that something new has to be named after it: `pip install -r requirements.txt` names nothing new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.tools.shell.command import Command, could_be
from agents.tools.shell.options import first_operand, has_option, list_operands, word_set
from agents.tools.shell.variables import UNKNOWN

_NEW = "…"

PROGRAMS: Mapping[str, str] = {
    "privilege/raise": """
        sudo, su, doas, pkexec, run0, runuser, sudoedit, visudo, mount, umount, nsenter, unshare,
        chroot, pivot_root, setcap, capsh, chown, chgrp, passwd, chpasswd, useradd, usermod,
        userdel, adduser, groupadd, newgrp, insmod, modprobe, rmmod, kexec, sysctl, iptables, nft,
        setpriv, swapon, swapoff, losetup
    """,
    "machine/device": """
        fdisk, sfdisk, parted, wipefs, mkswap, blkdiscard, hdparm, badblocks, mke2fs, cryptsetup
    """,
    "machine/power": """
        shutdown, reboot, halt, poweroff, telinit, systemctl poweroff, systemctl reboot,
        systemctl halt
    """,
    "publish/package": """
        npm publish, npm unpublish, npm deprecate, npm dist-tag, npm login, npm adduser, npm token,
        npm owner, npm access, pnpm publish, pnpm login, yarn publish, yarn npm publish,
        yarn login, yarn npm login, bun publish, lerna publish, changeset publish,
        twine upload, twine register, uv publish, poetry publish, pdm publish, flit publish,
        hatch publish, rye publish, maturin publish, maturin upload, setup.py upload,
        setup.py register, cargo publish, cargo yank, cargo owner, cargo login, gem push, gem yank,
        gem owner, gem signin, mvn deploy, mvn release:perform, gradle publish, gradlew publish,
        docker push, docker login, podman push, podman login, buildah push, skopeo copy, helm push,
        goreleaser release, dotnet nuget push, nuget push, mix hex.publish, clojars, vsce publish,
        ovsx publish, conda upload, anaconda upload, semantic-release, wrangler deploy,
        wrangler publish, vercel, netlify deploy, firebase deploy, flyctl deploy, fly deploy
    """,
    "publish/github": "gh, hub, glab",
    "dependency/system": """
        apt install, apt-get install, apt upgrade, apt-get upgrade, apt update, apt-get update,
        aptitude install, dpkg -i, yum install, dnf install, zypper install, apk add, pacman -S,
        brew install, snap install, flatpak install, port install
    """,
    "dependency/new": """
        pip install …, pip3 install …, pip download …, uv pip install …, uv add …, uv tool install
        …, pipx install …, uvx …, uv tool run …, pipx run …, pnpm dlx …, yarn dlx …, bunx …,
        poetry self add …, pipx inject …, poetry add …, pdm add …, rye add …, pipenv install …,
        hatch dep add …, conda install …, mamba install …, micromamba install …, easy_install …,
        npm install …, npm isntall …, npm ins …, npm i …, npm in …, npm add …, npm link …, pnpm
        add …, pnpm install …, pnpm i …, yarn add …, yarn global add …, bun add …, bun install …,
        bun i …, deno add …, deno install …, bower install …, cargo add …, cargo install …, cargo
        binstall …, go get …, go install …, gem install …, bundle add …, composer require …,
        dotnet add package …, nuget install …, luarocks install …, cpan …, cpanm …, opam install
        …, cabal install …, stack install …, mix archive.install …, pod install …, vcpkg install
        …, conan install …, nimble install …, pub add …, dart pub add …, flutter pub add …, swift
        package add-dependency …, julia --add …, npm create …, npm init …, npm innit …, yarn
        create …, pnpm create …, bun create …, npm update, npm upgrade, npm up, pnpm update, pnpm
        up, pnpm upgrade, yarn upgrade, yarn up, bun update, poetry update, pdm update, pipenv
        update, cargo update, bundle update, composer update, mix deps.update
    """,
    "network/none": """
        aws, gcloud, gsutil, az, kubectl apply, kubectl delete, kubectl exec, heroku, docker pull,
        podman pull, ssh-copy-id, svn checkout, svn commit, svn update, hg push, hg pull, hg clone
    """,
}

_VALUED = word_set(
    "--prefix --cwd --dir --directory --project --manifest-path --config --workspace --registry"
    " --index-url --extra-index-url --find-links --requirement --constraint --target --root"
    " --python --group --extra --features --version --git --branch --rev --tag --path --bin"
    " --python-version --platform --cache-dir --log --proxy --timeout --only --optional --package"
    " --name --channel --allow --target-dir --cert --source"
)
_SHORT = {
    "pip": word_set("-r -c -f -i -t"),
    "uv": word_set("-r -c -f -i -p"),
    "npm": word_set("-w -C"),
    "pnpm": word_set("-C -F"),
    "cargo": word_set("-F -p -C"),
    "poetry": word_set("-G -C -P"),
    "pdm": word_set("-G -p -d"),
    "conda": word_set("-n -c -p"),
    "mamba": word_set("-n -c -p"),
    "go": word_set("-C"),
    "gem": word_set("-v -i -s"),
    "apt-get": word_set("-o -t"),
    "apt": word_set("-o -t"),
}
_NPX_VALUED = word_set("-p --package -w --workspace -c --call")
_UV_VALUED = word_set("--with --python -p --extra --group --project --directory -m --module")
_EDITABLE = ("-e", "--editable")
_INSTALLED_HERE = re.compile(r"\.{1,2}(?:$|[/\[])|/|file:|.*\.(?:whl|tar\.gz|tgz|zip|gem|crate)$")
_VERSIONED = re.compile(r"(pip|gem|npm|cpan)[\d.]+")


def _entries() -> dict[str, list[tuple[str, ...]]]:
    return {
        rule: [tuple(entry.split()) for entry in text.replace("\n", " ").split(",")]
        for rule, text in PROGRAMS.items()
    }


_ENTRIES = _entries()
_MKFS = re.compile(r"mkfs(?:\.\w+)?")


def rule_of(command: Command) -> str | None:
    """Return the id of the rule that this program is under with these operands, or None."""
    name = _VERSIONED.sub(r"\1", command.name)
    if _MKFS.fullmatch(name):
        return "machine/device"
    words = command.words[1:]
    if words[:1] in (("--help",), ("--version",)):
        return None
    if _fetches_and_runs(name, words) or _takes_newer(name, words):
        return "dependency/new"
    given = list_operands(words, _VALUED | _SHORT.get(name, frozenset()))
    for rule, entries in _ENTRIES.items():
        for entry in entries:
            if entry[0] == name and _fits(entry[1:], words, given):
                return None if _only_rehearses(rule, words) else rule
    return None


def _only_rehearses(rule: str, words: Sequence[str]) -> bool:
    """Return whether it only shows what it would do, or how it is used."""
    shown = "--help" in words and not rule.startswith("privilege/")
    rehearsed = rule in ("publish/package", "dependency/new") and "--dry-run" in words
    return shown or rehearsed


def _fetches_and_runs(name: str, words: Sequence[str]) -> bool:
    """Return whether a runner is told to fetch what it runs, rather than to take what is here."""
    match name, *words:
        case "npx", *rest:
            own = rest[: first_operand(rest, _NPX_VALUED) + 1]
            new = bool(own) and ("@" in own[-1][1:] or own[-1].startswith("create-"))
            return new or has_option(own, "yp", "--yes", "--package")
        case "npm", "exec" | "x", *rest:
            return has_option(rest[: first_operand(rest)], "y", "--yes", "--package")
        case "uv", "run", *rest:
            return has_option(rest[: first_operand(rest, _UV_VALUED)], "", "--with")
        case "go", "run", *rest:
            return "@" in "".join(list_operands(rest, word_set("-C"))[:1])
        case _:
            return False


def _takes_newer(name: str, words: Sequence[str]) -> bool:
    """Return whether an option or a word in between makes it fetch what is not here."""
    match name, *words:
        case "uv", "lock" | "sync", *rest:
            return has_option(rest, "UP", "--upgrade", "--upgrade-package")
        case "go", "get", *rest:
            return has_option(rest, "u")
        case "dotnet", "add", *rest:
            return "package" in rest
        case _:
            return False


def _fits(entry: Sequence[str], words: Sequence[str], given: Sequence[str]) -> bool:
    new = bool(entry) and entry[-1] == _NEW
    verbs = entry[:-1] if new else entry
    if verbs and verbs[0].startswith("-"):
        return any(word.startswith(verbs[0]) for word in words)
    if len(given) < len(verbs) or not all(map(could_be, given, verbs)):
        return False
    return not new or _names_new(given[len(verbs) :], words)


def _names_new(names: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether one of the names is of something that is not here already."""
    edited = [words[n + 1] for n, word in enumerate(words[:-1]) if word in _EDITABLE]
    return any(
        not _INSTALLED_HERE.match(name) and name != UNKNOWN + "/." for name in [*names, *edited]
    )
