"""Bad input for the server: recorded payloads of GitHub, each damaged in one way; from a seed."""

from __future__ import annotations

import copy
import gzip
import hmac
import json
import random
import uuid
from dataclasses import dataclass, field

from handlers import ROUTES

SECRET = b"s3cret"
HANDLED = frozenset(event for event, _ in ROUTES)

ODD_VALUES = [
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1e300),
    *("", " ", "\0", "\u202e", "\ud800", "../..", "a/b", "ghost", "x" * 70_000, "é" * 3000),
    *([], {}, [None], {"id": None}, {"login": "ghost", "id": 10137}, [[[]]], {"": {"": ""}}),
]
GHOSTS = [None, {}, {"login": "ghost", "id": 10137, "type": "User"}, {"login": None, "id": 1}]
INSTALLATIONS = [None, {}, [], 7, "7", {"id": None}, {"id": "7"}, {"id": True}, {"id": -1}]
INSTALLATIONS += [{"id": 0}, {"id": 2**63}, {"id": 2**80}, {"id": 1.5}, {"id": [7]}, {"id": 7}]
TYPES = [b"text/plain", b"application/x-www-form-urlencoded", b"", b"application/json;charset=x-y"]
TYPES += [b"application/json; charset=utf-16", b"APPLICATION/JSON", b"application/json,text/html"]
EVENTS = [
    b"",
    b"*",
    b"Issues",
    b"issues\t",
    b"\xff",
    b"a" * 9000,
    b"fettle.terminal",
    b"fettle.schedule",
    b"push",
    b"ping",
]
IDS = [b"", b"-", b"x" * 81, b"a b", b"\xff\xfe", b"../../etc", b"'; DROP TABLE deliveries; --"]
SIGNATURES = [b"", b"sha256=", b"sha256=" + b"0" * 64, b"sha1=" + b"0" * 40, b"\xff" * 71]
SIGNATURES += [b"sha256=" + b"g" * 64, b"SHA256=" + b"0" * 64, b"sha256=" + b"0" * 4000]


@dataclass
class Case:
    """One request, and how it is sent."""

    event: bytes
    body: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Added to the right ones, or in place of them where the name is in `without`."""
    without: set[bytes] = field(default_factory=set)
    length: int | None = None
    """What Content-Length says; None: the truth."""
    chunks: list[int] | None = None
    """Sizes of pieces of a chunked body."""
    pieces: int = 1
    """So many writes with a pause between them."""
    cut: float = 1.0
    """How much of it all is sent before the connection ends."""
    why: str = ""

    def bytes(self):
        """Return it as it goes over the wire."""
        signature = b"sha256=" + hmac.digest(SECRET, self.body, "sha256").hex().encode()
        right = [
            (b"Content-Type", b"application/json"),
            (b"X-GitHub-Event", self.event),
            (b"X-GitHub-Delivery", str(uuid.uuid4()).encode()),
            (b"X-Hub-Signature-256", signature),
        ]
        lines = [b"POST /webhook HTTP/1.1", b"Host: x", b"Connection: close"]
        kept = [pair for pair in right if pair[0] not in self.without]
        lines += [name + b": " + value for name, value in [*kept, *self.headers]]
        body = self.body
        if self.chunks is not None:
            lines.append(b"Transfer-Encoding: chunked")
            body = _split(self.body, self.chunks)
        elif b"Content-Length" not in self.without:
            length = len(self.body) if self.length is None else self.length
            lines.append(b"Content-Length: %d" % length)
        whole = b"\r\n".join(lines) + b"\r\n\r\n" + body
        return whole[: int(len(whole) * self.cut)]


def cases(payloads, number, seed):
    """Yield so many cases; `payloads` are pairs of event and payload."""
    dice = random.Random(seed)
    wanted = [each for each in payloads if each[0] in HANDLED]
    for _ in range(number):
        event, payload = dice.choice(wanted if dice.random() < 0.8 else payloads)
        payload = _as_apps_get_it(copy.deepcopy(payload), event, dice)
        mutate = dice.choices(list(MUTATIONS), MUTATIONS.values())[0]
        case = mutate(event.encode(), payload, dice)
        case.why = f"{event}: {mutate.__name__}"
        yield case


def _as_apps_get_it(payload, event, dice):
    """Make most of them ask for something, so that they get far before they are refused."""
    payload["installation"] = {"id": 7, "node_id": "x"}
    if event == "issues" and dice.random() < 0.8:
        payload |= {"action": "labeled", "label": {"name": "bot:resolve"}}
    if event == "issue_comment" and "comment" in payload:
        payload["action"] = "created"
        payload["comment"]["body"] = "/bot status\n/bot approve k3f9x2"
    return payload


def _to_json(payload):
    return json.dumps(payload).encode()


def _path(value, dice):
    """Return the way to a random place in the payload."""
    way = []
    while isinstance(value, dict | list) and value and (not way or dice.random() < 0.75):
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        way.append(key)
        value = value[key]
    return way


def _find_at(payload, way):
    for key in way[:-1]:
        payload = payload[key]
    return payload


def another_value(event, payload, dice):
    for _ in range(dice.randrange(1, 4)):
        way = _path(payload, dice)
        if way:
            _find_at(payload, way)[way[-1]] = copy.deepcopy(dice.choice(ODD_VALUES))
    return Case(event, _to_json(payload))


def a_part_less(event, payload, dice):
    way = _path(payload, dice)
    if way:
        del _find_at(payload, way)[way[-1]]
    return Case(event, _to_json(payload))


def another_at_the_top(event, payload, dice):
    parts = ["action", "issue", "label", "repository", "sender", "comment", "review"]
    payload[dice.choice([*parts, "pull_request"])] = copy.deepcopy(dice.choice(ODD_VALUES))
    return Case(event, _to_json(payload))


def ghosts(event, payload, dice):
    for name in ("issue", "comment", "pull_request", "review"):
        if isinstance(payload.get(name), dict):
            payload[name]["user"] = dice.choice(GHOSTS)
    payload["sender"] = dice.choice(GHOSTS)
    return Case(event, _to_json(payload))


def installations(event, payload, dice):
    payload["installation"] = dice.choice(INSTALLATIONS)
    if dice.random() < 0.2:
        del payload["installation"]
    return Case(event, _to_json(payload))


def encodings(event, payload, dice):
    text = json.dumps(payload, ensure_ascii=False)
    made = [
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-32"),
        lambda: text.encode("utf-7"),
        lambda: b"\xef\xbb\xbf" + text.encode(),
        lambda: text.replace("e", "\xe9").encode("latin-1", "replace"),
        lambda: gzip.compress(text.encode()),
        lambda: text.encode().replace(b"a", b"\xff", 3),
        lambda: text.encode().replace(b'"', b"'"),
    ]
    return Case(event, dice.choice(made)())


def broken_json(event, payload, dice):
    whole = bytearray(_to_json(payload))
    for _ in range(dice.randrange(1, 5)):
        start = dice.randrange(len(whole))
        whole[start : start + dice.randrange(0, 9)] = dice.randbytes(dice.randrange(0, 9))
    end = b"]}, {}" if dice.random() < 0.2 else b""
    return Case(event, bytes(whole) + end)


def no_object(event, _payload, dice):
    texts = [b"", b" ", b"null", b"[]", b"0", b'"x"', b"{", b"NaN", b"{}{}", b"\0", b"{'a':1}"]
    return Case(event, dice.choice([*texts, b"-", b'{"action":', b'{"action": Infinity}']))


def nest(event, payload, dice):
    depth = dice.choice([50, 900, 5_000, 200_000])
    begin, end = dice.choice([(b"[", b"]"), (b'{"a":', b"}")])
    deep = begin * depth + (b"1" if begin != b"[" else b"") + end * depth
    whole = _to_json(payload)
    return Case(event, b'{"issue": ' + deep + b", " + whole[1:])


def sizes(event, payload, dice):
    payload["filler"] = dice.choice(["x", "\u0000", "\U0001f600"]) * dice.choice([10**5, 10**6])
    if dice.random() < 0.3:
        payload["many"] = {str(each): [] for each in range(50_000)}
    return Case(event, _to_json(payload))


def doubled_keys(event, payload, dice):
    first = json.dumps({"action": dice.choice(["labeled", "x", 5]), "installation": 3})
    return Case(event, first[:-1].encode() + b", " + _to_json(payload)[1:])


def signatures(event, payload, dice):
    given = [(b"X-Hub-Signature-256", dice.choice(SIGNATURES))]
    if dice.random() < 0.2:
        given = []
    return Case(event, _to_json(payload), given, without={b"X-Hub-Signature-256"})


def odd_headers(event, payload, dice):
    name, values = dice.choice(
        [(b"X-GitHub-Event", EVENTS), (b"X-GitHub-Delivery", IDS), (b"Content-Type", TYPES)]
    )
    given = [(name, dice.choice(values))] if dice.random() < 0.9 else []
    return Case(event, _to_json(payload), given, without={name})


def doubled_headers(event, payload, dice):
    more = [
        (b"X-Hub-Signature-256", b"sha256=" + b"0" * 64),
        (b"X-GitHub-Event", b"push"),
        (b"X-GitHub-Delivery", b"another"),
        (b"Content-Type", b"text/html"),
        (b"Content-Length", b"3"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Transfer-Encoding", b"gzip, chunked"),
        (b"Content-Encoding", b"gzip"),
        (b"Expect", b"100-continue"),
        (b"Upgrade", b"h2c"),
    ]
    return Case(event, _to_json(payload), dice.sample(more, dice.randrange(1, 3)))


def lengths(event, payload, dice):
    body = _to_json(payload)
    length = dice.choice([0, 1, len(body) - 1, len(body) + 1, 27 * 2**20, 10**30, -1])
    return Case(event, body, length=length)


def send_in_chunks(event, payload, dice):
    sizes_ = [dice.choice([1, 7, 1000, 65_536]) for _ in range(dice.randrange(1, 30))]
    return Case(event, _to_json(payload), chunks=sizes_)


def broken_chunks(event, payload, dice):
    case = Case(event, _to_json(payload), [(b"Transfer-Encoding", b"chunked")])
    case.without.add(b"Content-Length")
    return case


def slow(event, payload, dice):
    return Case(event, _to_json(payload), pieces=dice.randrange(2, 6))


def cut_off(event, payload, dice):
    return Case(event, _to_json(payload), cut=dice.random())


MUTATIONS = {
    another_value: 20,
    a_part_less: 8,
    another_at_the_top: 8,
    ghosts: 6,
    installations: 6,
    encodings: 6,
    broken_json: 8,
    no_object: 4,
    nest: 4,
    sizes: 3,
    doubled_keys: 3,
    signatures: 6,
    odd_headers: 6,
    doubled_headers: 5,
    lengths: 3,
    send_in_chunks: 3,
    broken_chunks: 1,
    slow: 2,
    cut_off: 3,
}
"""How often each comes."""


def _split(body, sizes_):
    parts, at = [], 0
    for size in [*sizes_, len(body)]:
        piece = body[at : at + size]
        at += len(piece)
        if piece:
            parts.append(b"%x\r\n%s\r\n" % (len(piece), piece))
    return b"".join([*parts, b"0\r\n\r\n"])
