"""The bench's sender: signed deliveries over many connections, each request cheap to make."""

from __future__ import annotations

import hmac
import json
import re
import select
import socket
import time
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


@dataclass
class Result:
    """What one or more slices of load brought."""

    seconds: float = 0.0
    statuses: Counter = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.seconds += other.seconds
        self.statuses += other.statuses
        self.latencies += other.latencies
        self.acknowledged += other.acknowledged

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        return sorted(self.latencies)[int(len(self.latencies) * share)] * 1000


class Deliveries:
    """Endless distinct deliveries of one payload: the last bytes differ, so the HMAC of all that
    stands before them is computed once and copied."""

    def __init__(self, payload: dict, *, event: str, secret: str, path: str) -> None:
        marker = "@nonce@"
        payload = {**payload}
        installation = {"id": 4242, **payload.pop("installation", {}), "node_id": marker}
        text = json.dumps({**payload, "installation": installation}, separators=(",", ":"))
        first, _, last = text.partition(marker)
        self._first, self._last = first.encode(), last.encode()
        self._signed = hmac.new(secret.encode(), self._first, "sha256")
        self._nonce = uuid.uuid4().hex[:12]
        self._numbers = count()
        length = len(self._first) + len(self._tail(0))
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: GitHub-Hookshot/bench\r\n"
            f"Accept: */*\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
            f"X-GitHub-Event: {event}\r\nX-GitHub-Hook-ID: 1\r\n"
            "X-GitHub-Hook-Installation-Target-ID: 1\r\n"
            "X-GitHub-Hook-Installation-Target-Type: integration\r\n"
        )

    def _tail(self, number: int) -> bytes:
        return f"{self._nonce}{number:012d}".encode() + self._last

    def next(self) -> tuple[str, list[bytes]]:
        """Return a delivery id and the pieces of its request."""
        number = next(self._numbers)
        tail = self._tail(number)
        signed = self._signed.copy()
        signed.update(tail)
        ident = str(uuid.uuid1(1, 1))  # of the kind that GitHub makes: from the time
        head = (
            f"{self._head}X-GitHub-Delivery: {ident}\r\n"
            f"X-Hub-Signature-256: sha256={signed.hexdigest()}\r\n\r\n"
        )
        return ident, [head.encode(), self._first, tail]


class _Line:
    """One connection with one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.began = 0.0
        self.ident = ""

    def send(self, deliveries: Deliveries) -> None:
        self.ident, pieces = deliveries.next()
        self.began = time.perf_counter()
        sent = self.socket.sendmsg(pieces)
        if sent != sum(map(len, pieces)):
            self.socket.sendall(b"".join(pieces)[sent:])

    def answer(self) -> int:
        """Return the status of the whole answer; raises ConnectionError when there is none."""
        data = self.socket.recv(65536)
        while data and not _whole(data):
            more = self.socket.recv(65536)
            data = data + more if more else b""
        if not data:
            raise ConnectionError("the server closed the connection")
        return int(data[9:12])


def _whole(data: bytes) -> bool:
    end = data.find(b"\r\n\r\n")
    length = LENGTH.search(data, 0, end + 2) if end >= 0 else None
    return end >= 0 and len(data) >= end + 4 + (int(length[1]) if length else 0)


def load(
    port: int, deliveries: Deliveries, *, seconds: float, connections: int, keep_ids: bool = False
) -> Result:
    """Send for so long, each connection its next delivery as soon as it has its answer.

    Ends early, with what was acknowledged, when the server goes away.
    """
    result = Result()
    lines = {}
    poll = select.epoll()
    for _ in range(connections):
        line = _Line(port)
        lines[line.socket.fileno()] = line
        poll.register(line.socket, select.EPOLLIN)
    began = time.perf_counter()
    for line in lines.values():
        line.send(deliveries)
    with suppress(ConnectionError):
        _turn(poll, lines, deliveries, result, until=began + seconds, keep_ids=keep_ids)
    result.seconds = time.perf_counter() - began
    for line in lines.values():
        line.socket.close()
    poll.close()
    return result


def _turn(poll, lines, deliveries, result, *, until, keep_ids) -> None:
    under_way = len(lines)
    while under_way:
        for number, _ in poll.poll(5) or _silent():
            line = lines[number]
            status = line.answer()
            now = time.perf_counter()
            result.latencies.append(now - line.began)
            result.statuses[status] += 1
            if keep_ids and status == 202:
                result.acknowledged.append(line.ident)
            if now < until:
                line.send(deliveries)
            else:
                under_way -= 1


def _silent():
    raise ConnectionError("no answer for 5 seconds")
