"""How often triage was right about what the maintainers would merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

BINS = 5
"""Rows of the reliability table, each as wide as the others."""


@dataclass(frozen=True)
class Prediction:
    """What triage said of one pull request, and what became of it."""

    confidence: int
    """In percent, that it would be merged."""
    merged: bool


@dataclass(frozen=True)
class ReliabilityRow:
    """The predictions of one range: they are reliable where `said` and `merged` agree."""

    least: int
    """Percent, as the next: up to `most`, which counts only in the last row."""
    most: int
    count: int
    said: float | None
    """The mean of what was said, from 0 to 1; None without any, as the next."""
    merged: float | None
    """The share that was merged."""


@dataclass(frozen=True)
class Calibration:
    """How well predictions and ends agree.

    https://en.wikipedia.org/wiki/Brier_score
    """

    count: int
    brier: float | None
    """The mean of squared differences: 0 is perfect, 0.25 as good as a coin; None without any."""
    merged: float | None
    """The share that was merged."""
    always: float | None
    """The Brier score of whoever would always say that share: what has to be beaten."""
    rows: tuple[ReliabilityRow, ...]

    def to_json(self) -> dict[str, object]:
        """Return the calibration as plain values."""
        return asdict(self)


def calibrate(predictions: Sequence[Prediction]) -> Calibration:
    """Hold what was said against what became of it."""
    rows = tuple(_make_row(predictions, number) for number in range(BINS))
    if not predictions:
        return Calibration(0, None, None, None, rows)
    brier = fmean((each.confidence / 100 - each.merged) ** 2 for each in predictions)
    share = fmean(each.merged for each in predictions)
    return Calibration(len(predictions), brier, share, share * (1 - share), rows)


def _make_row(predictions: Sequence[Prediction], number: int) -> ReliabilityRow:
    width = 100 // BINS
    here = [each for each in predictions if min(each.confidence // width, BINS - 1) == number]
    said = fmean(each.confidence / 100 for each in here) if here else None
    merged = fmean(each.merged for each in here) if here else None
    return ReliabilityRow(number * width, (number + 1) * width, len(here), said, merged)
