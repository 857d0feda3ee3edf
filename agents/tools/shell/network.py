"""Hosts that a command would connect to; loopback does not count, which the sandbox has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.tools.shell.command import Command
from agents.tools.shell.options import has_option, list_operands, word_set
from agents.tools.shell.variables import UNKNOWN

_FETCH = word_set("curl wget http https httpie xh aria2c axel lynx w3m links elinks hurl")
_CONNECT = word_set(
    "ssh scp sftp ftp lftp tftp telnet nc ncat netcat socat ping ping6 dig nslookup host whois"
    " traceroute tracepath mtr nmap mosh autossh sshfs rsh rlogin rdate ntpdate"
)
_CURL_VALUED = word_set(
    "-o -O -H -X -d -F -A -e -u -b -c -m -w -T -x -K -E -Q -r -t -y -Y -z --output --header --data"
    " --request --data-raw --data-binary --data-urlencode --json --form --user --user-agent"
    " --cookie --cookie-jar --max-time --connect-timeout --retry --retry-delay --write-out --proxy"
    " --upload-file --referer --unix-socket --cacert --cert --key --resolve --output-document"
    " --post-data --post-file --method --body-data --timeout --tries --interface --range -P"
    " --config"
)
_URL = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[0-9a-f:.]*\]|[^/:?#\s'\"]*)", re.IGNORECASE
)
_HTTPIE = word_set("http https httpie xh")
_OPTION = re.compile("-")
_SENT_SHORT = ("-H", "-d", "-F", "-A", "-e", "-b", "-w")
_SENT = word_set(
    "--header --data --data-raw --data-ascii --data-binary --data-urlencode --json --form --cookie"
    " --form-string --user-agent --referer --write-out --post-data --body-data"
)
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]*)")
_REMOTE = re.compile(r"(?:[\w.-]+@)?([\w.-]+|\0):(?!//)")
_LOOPBACK = re.compile(
    r"localhost|.*\.localhost|127(?:\.\d+){0,3}|\[?::1\]?|0\.0\.0\.0|0|\[::\]", re.IGNORECASE
)


def list_hosts(command: Command) -> Iterator[str]:
    """Yield the hosts that the command names, lower case; UNKNOWN for one that it does not."""
    for word in (*command.words, *command.writes, *command.reads):
        yield from (found[1].lower() for found in _SOCKET.finditer(word))
    for word in _list_addresses(command):
        here = _URL.match(word)
        found_in = [here] if here and is_loopback(here[1]) else _URL.finditer(word)
        yield from (found[1].lower() for found in found_in)
    if command.name == "curl" and has_option(command.words[1:], "K", "--config"):
        yield UNKNOWN  # more addresses may stand in that file
    given = list_operands(command.words[1:], _CURL_VALUED)
    if command.name in _FETCH:
        given = _address_of_httpie(given) if command.name in _HTTPIE else given
        yield from (_host(word) for word in given if not _names_url(word))
    elif command.name in _CONNECT:
        yield from (_remote(word) for word in given[:2])


def _list_addresses(command: Command) -> Iterator[str]:
    """Yield the words that may hold an address: what is sent to one is none."""
    short = _SENT_SHORT if command.name == "curl" else ()
    words = command.words
    if command.name in _HTTPIE:
        words = (*_address_of_httpie(list_operands(words[1:])), *filter(_OPTION.match, words))
    for before, word in zip(("", *words), words, strict=False):
        sent = word.startswith(short) if short else False
        if before not in (*_SENT, *short) and word.split("=")[0] not in _SENT and not sent:
            yield word


def _address_of_httpie(given: list[str]) -> list[str]:
    """Return the address, which comes before headers and fields."""
    rest = given[1:] if given and given[0].isupper() else given
    return [f"localhost{word}" if word[0] == ":" else word for word in rest[:1]]


def _names_url(word: str) -> bool:
    return "://" in word and (bool(_URL.match(word)) or not is_loopback(_host(word)))


def needs_network(command: Command) -> bool:
    """Return whether the command would talk to something beyond loopback."""
    if any(_SOCKET.search(word) and not _is_all_loopback(_SOCKET, word)
           for word in (*command.words, *command.writes, *command.reads)):  # fmt: skip
        return True
    if command.name in _FETCH:
        return any(not is_loopback(host) for host in list_hosts(command))
    if command.name == "rsync":
        return any(
            _REMOTE.match(word) or "://" in word for word in list_operands(command.words[1:])
        )
    if command.name not in _CONNECT:
        return False
    words = command.words[1:]
    if command.name in ("nc", "ncat", "netcat") and has_option(words, "l", "--listen"):
        return False
    given = [
        _remote(word) for word in list_operands(words, word_set("-p -i -w -l -o -F -J -L -R -D"))
    ]
    return bool(given) and not any(is_loopback(host) for host in given)


def is_loopback(host: str) -> bool:
    """Return whether the host is the sandbox itself."""
    return bool(_LOOPBACK.fullmatch(host))


def _is_all_loopback(pattern: re.Pattern[str], word: str) -> bool:
    return all(is_loopback(found[1]) for found in pattern.finditer(word))


def _host(word: str) -> str:
    """Return the host of an address without its scheme, as curl takes it."""
    host = re.split(r"[/?#]", word.rpartition("@")[2], maxsplit=1)[0]
    bare = host if host.startswith("[") else host.split(":")[0]
    return UNKNOWN if UNKNOWN in bare else bare.lower()


def _remote(word: str) -> str:
    host = word.rpartition("@")[2]
    for part in host.split(":"):
        if is_loopback(part):
            return part
    return host.split(":")[0].lower()
