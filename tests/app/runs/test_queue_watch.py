"""The look at the queue that goes before each poll of the engine."""

import threading
import time

from app.runs import queue_watch
from app.runs.queue_watch import QueueWatch


def test_the_wait_for_a_poll_ends_when_something_is_queued():
    looks = iter([False, False, True])
    assert QueueWatch(lambda: next(looks)).wait(0.001) is False
    assert next(looks, "no look is left") == "no look is left"


def test_it_ends_at_once_when_the_thread_is_to_stop():
    watch = QueueWatch(lambda: False)
    threading.Timer(0.05, watch.set).start()
    before = time.monotonic()
    assert watch.wait(20.0) is True
    assert time.monotonic() - before < 15.0


def test_the_engine_polls_after_a_while_though_nothing_was_seen(monkeypatch):
    monkeypatch.setattr(queue_watch, "LONGEST_SECONDS", 0.0)
    assert QueueWatch(lambda: False).wait(0.001) is False
