"""The environment and configuration that every git process gets, built from nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_HARMLESS = (
    *("badDate", "badEmail", "badFilemode", "badName", "badTimezone", "missingEmail"),
    *("missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail"),
    *("missingTaggerEntry", "zeroPaddedDate", "zeroPaddedFilemode"),
)
"""Faults that the histories of old projects carry, and that harm nobody; by their names in
https://git-scm.com/docs/git-fsck#_fsck_messages."""
STRICT = f"--strict={','.join(f'{fault}=ignore' for fault in _HARMLESS)}"
"""How index-pack checks objects: as a fetch does, which takes the same faults for harmless."""
CONFIG = {
    # Nothing runs: no hook, no monitor, no editor, no pager, no transport but ours.
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.askPass": "",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "log.showSignature": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "push.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "rerere.enabled": "false",
    "filter.lfs.smudge": "",
    "filter.lfs.clean": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    # Names that other systems would take for .git.
    "core.protectNTFS": "true",
    "core.protectHFS": "true",
    "safe.bareRepository": "explicit",
    # Only the protocol that the caller asks for, with no redirect and nothing recursive.
    "protocol.allow": "never",
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "120",
    "transfer.credentialsInUrl": "die",
    "transfer.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "push.recurseSubmodules": "no",
    "push.followTags": "false",
    **{f"fetch.fsck.{fault}": "ignore" for fault in _HARMLESS},
    "advice.graftFileDeprecated": "false",  # nothing stands in the file that is named for it
    # A journal that names a checkpoint must find it, also after a power cut.
    "core.fsync": "committed,reference",
    "core.bigFileThreshold": "20m",
    "core.packedRefsTimeout": "10000",
    "core.filesRefLockTimeout": "5000",
}

_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_TRACE_REDACT": "1",
}


@dataclass(frozen=True)
class CommitIdentity:
    """The author and committer of commits."""

    name: str
    email: str

    def environment(self) -> dict[str, str]:
        """Return the variables by which git takes this name as author and committer.

        https://git-scm.com/book/en/v2/Git-Internals-Environment-Variables
        """
        return {
            "GIT_AUTHOR_NAME": self.name,
            "GIT_AUTHOR_EMAIL": self.email,
            "GIT_COMMITTER_NAME": self.name,
            "GIT_COMMITTER_EMAIL": self.email,
        }


def trusted_environment(config: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of every git process, with `config` on top of Fettle's."""
    values = {**CONFIG, **(config or {})}
    environment = {**_ENVIRONMENT, "GIT_CONFIG_COUNT": str(len(values))}
    for number, (key, value) in enumerate(values.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment
