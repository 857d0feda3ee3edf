"""The cache's share of a session's input, for the bench `turns`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

AIM = 0.95


def print_shares(answers: Sequence[Mapping[str, Any]]) -> None:
    """Print how much of the input of a session's answers came from the cache."""
    later = answers[1:]
    shares = [_read(each) / _input(each) for each in later]
    whole = share(later)
    lowest = min(range(len(shares)), key=shares.__getitem__)
    print(f"Input read from the cache, as the local model accounts it, {len(answers)} answers:")
    print(f"   first answer        {_read(answers[0]) / _input(answers[0]) * 100:6.1f} %")
    print(f"   all after it        {whole * 100:6.1f} %   aim {AIM * 100:.0f} %: ", end="")
    print("met" if whole >= AIM else "missed")
    print(f"   lowest of them      {shares[lowest] * 100:6.1f} %   answer {lowest + 2}")
    print(f"   tokens of the last  {_input(answers[-1]):6,}")


def share(answers: Sequence[Mapping[str, Any]]) -> float:
    """Return how much of the input of these answers came from the cache, from 0 to 1."""
    return sum(map(_read, answers)) / sum(map(_input, answers))


def _read(usage: Mapping[str, Any]) -> int:
    return int(usage["cache_read_input_tokens"])


def _input(usage: Mapping[str, Any]) -> int:
    return int(usage["input_tokens"] + usage["cache_creation_input_tokens"]) + _read(usage)
