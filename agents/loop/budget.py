"""The budget of a run and of its stages, counted from recorded turns: dollars, answers, minutes."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.errors import BudgetExceeded, DayOver, ModelRefused
from agents.loop.turns import pair_calls, submits
from agents.policy import Budget
from agents.ports import Block, Turn

WRAP_UP_AT = 0.75
"""The share of a run's budget, or of a stage's answers, at which the model is told to wrap up."""
WRAP_UP = (
    "[Fettle: most of what you may use is used. Finish what you are at, leave the files in a"
    " working state, and submit.]"
)
LAST_CALL = (
    "[Fettle: this stage's answers are used up. Submit what you have now, and say in it what is"
    " left to do.]"
)
LAST_ANSWERS = 2  # that a stage is given after the last call
NUDGES = 3  # times that prose instead of a submission is sent back
FAULTS = 5  # times that a faulty submission is sent back
MOST_CUT_OFF = 4  # answers of a stage that end in the middle
SAME_CALL, MOST_SAME_CALLS = 4, 8
"""How often the same call may have the same result before the model is told, and stopped."""
STUCK = (
    f"\n\n[You have made this very call {SAME_CALL} times with this very result."
    " Try something else, or submit what you have and say what stopped you.]"
)
_SECONDS = re.compile(r"\b\d+\.\d+ ?s\b")  # no two runs of a command take equally long
_MORE = "For more, raise `budget` in `.github/fettle.yml`, or the operator's limit."
FOR_ALERTS = 0.5
"""The share of a day's budget that is left to people by runs which nobody but alerts asks for."""
_NOT_PEOPLES = (
    "The runs on this repository used up what alerts may of the budget of the day:"
    " {today}. The rest of it is kept for what people ask for; open alerts are looked at again by"
    " their schedule."
)
_SHARE = "It took ${used:.2f}, and may take {share:.0%} of the run's ${limit:.2f}."
_TOMORROW = (
    "That day ends at midnight UTC; for more before that, raise `budget.usd_per_day` in"
    " `.github/fettle.yml`, or the operator's limit."
)


@dataclass(frozen=True)
class RunLimits:
    """The most that one run may use up."""

    usd: float
    turns: int
    minutes: float
    usd_per_day: float = math.inf
    """Dollars of all runs on the repository in one day."""
    unasked: bool = False
    """No person asked for the run, so it leaves a share of the day's budget to people."""

    def limit_to(
        self, budget: Budget, more_usd: float = 0.0, *, unasked: bool = False
    ) -> RunLimits:
        """Return the stricter of these limits and the repository owners' budget.

        `more_usd` is what people gave the run beyond that budget; turns and minutes grow with it.
        """
        usd = budget.usd + more_usd
        growth = usd / budget.usd
        return RunLimits(
            usd=min(self.usd, usd),
            turns=min(self.turns, round(budget.turns * growth)),
            minutes=min(self.minutes, budget.minutes * growth),
            usd_per_day=min(self.usd_per_day, budget.usd_per_day)
            * (1 - FOR_ALERTS if unasked else 1),
            unasked=unasked,
        )


@dataclass(frozen=True)
class Spent:
    """What a run has used up so far."""

    usd: float
    turns: int
    minutes: float
    """Of work: waiting for a place, for a person or for a restart does not count."""
    usd_today: float = 0.0
    """Of all runs on the repository, this one included."""

    def add_answer(self, usd: float) -> Spent:
        """Return what was spent with one more answer of this price."""
        return replace(
            self, usd=self.usd + usd, turns=self.turns + 1, usd_today=self.usd_today + usd
        )

    def share(self, limits: RunLimits) -> float:
        """Return the largest used share of any limit; 1.0 means used up."""
        return max(
            self.usd / limits.usd,
            self.turns / limits.turns,
            self.minutes / limits.minutes,
            self.usd_today / limits.usd_per_day,
        )

    def check(self, limits: RunLimits) -> None:
        """Raise BudgetExceeded once a limit is reached."""
        for used, limit, text in (
            (self.usd, limits.usd, f"${self.usd:.2f} of ${limits.usd:.2f} for the model"),
            (self.turns, limits.turns, f"{self.turns} of {limits.turns} model answers"),
            (self.minutes, limits.minutes, f"{self.minutes:.0f} of {limits.minutes:.0f} minutes"),
        ):
            if used >= limit:
                raise BudgetExceeded(f"The run used up its budget: {text}. {_MORE}")
        if self.usd_today >= limits.usd_per_day:
            today = f"${self.usd_today:.2f} of ${limits.usd_per_day:.2f}"
            if limits.unasked:
                raise DayOver(_NOT_PEOPLES.format(today=today))
            raise DayOver(
                f"The runs on this repository used up the budget of the day: {today}. {_TOMORROW}"
            )


def check_share(turns: Sequence[Turn], share: float, limits: RunLimits) -> None:
    """Raise ModelRefused once these turns took this share of the run's dollars, if it is a part."""
    used = sum(turn.cost_usd for turn in turns)
    if share < 1 and used >= share * limits.usd:
        raise ModelRefused(_SHARE.format(used=used, share=share, limit=limits.usd))


@dataclass(frozen=True)
class StageProgress:
    """How far a stage has come within what it may use, from what was said in it."""

    stage: str
    turns: Sequence[Turn]
    most_answers: int

    def check(self) -> str:
        """Return the last call once its answers are used up, else nothing.

        Raises ModelRefused for a stage that does not come to its end.
        """
        if self._same_calls() >= MOST_SAME_CALLS:
            raise ModelRefused(
                f"The model was stuck in the stage `{self.stage}`: it made the same call with the"
                f" same result {MOST_SAME_CALLS} times, though it was told. {_ITS_FAULT}"
            )
        cut_off = self._count(stop_reason=("max_tokens", "model_context_window_exceeded"))
        if cut_off >= MOST_CUT_OFF:
            raise ModelRefused(
                f"The model's answers in the stage `{self.stage}` were cut off {cut_off} times,"
                f" also at the longest that it can give. {_ITS_FAULT}"
            )
        answers = self._count(kind=("answer",))
        called = any(_is_last_call(turn) for turn in self.turns)
        most = self.most_answers + (LAST_ANSWERS if called else 0)
        faults = sum(submits(call) and "is_error" in told for call, told in pair_calls(self.turns))
        if (called and answers >= most) or self._count(kind=("prompt",)) > NUDGES + 1:
            raise ModelRefused(self._describe_end(answers))
        if faults >= FAULTS:
            raise ModelRefused(self._describe_end(answers))
        return LAST_CALL if answers >= most else ""

    def notice(self, share: float) -> str:
        """Return a word to wrap up, once; `share` is what is used of the whole run's budget."""
        told = any(b.get("text") == WRAP_UP for turn in self.turns for b in turn.content)
        answers = self._count(kind=("answer",))
        near = max(share, answers / self.most_answers) >= WRAP_UP_AT
        return WRAP_UP if near and not told else ""

    def remark_on(self, call: Block, result: Block) -> str:
        """Return what is added to this result when the same call had it again and again."""
        past = Counter(_spell_call(*each) for each in pair_calls(self.turns))
        return STUCK if past[_spell_call(call, result)] + 1 >= SAME_CALL else ""

    def _same_calls(self) -> int:
        """Return how often the newest calls were made with the very same result."""
        newest = [_spell_call(*each) for each in pair_calls(self.turns[-2:])]
        if not newest:
            return 0
        past = Counter(_spell_call(*each) for each in pair_calls(self.turns))
        return max(past[each] for each in newest)

    def _count(self, **fields: tuple[str, ...]) -> int:
        return sum(
            all(getattr(turn, name) in values for name, values in fields.items())
            for turn in self.turns
        )

    def _describe_end(self, answers: int) -> str:
        return (
            f"The stage `{self.stage}` did not come to a result within {answers} answers of the"
            f" model. {_ITS_FAULT} Say more about what is wanted and where, then ask again."
        )


_ITS_FAULT = "That is the model's doing: nothing in the request or the set-up was refused."


def _is_last_call(turn: Turn) -> bool:
    return turn.kind == "notice" and turn.content[0].get("text") == LAST_CALL


def _spell_call(call: Block, result: Block) -> str:
    told = _SECONDS.sub("", str(result["content"]).removesuffix(STUCK))
    return json.dumps([call["name"], call["input"], told], sort_keys=True)
