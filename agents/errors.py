"""The errors of Fettle: the class says who must act.

FettleError
├─ ConfigError      the operator: refuse to start, name the variable, say the remedy
│  └─ ModelClosed   the model's server refuses our key or account: a run at work waits
├─ DeliveryError    the sender of a webhook: answered with its 4xx status
├─ TransientError   the engine: run the stage again, after `retry_after` seconds if that is known
│  └─ Overloaded    the model's server has no room for us: the run waits, and holds nothing
├─ ToolError        the model: becomes an error tool result, never ends a run
└─ RunError         a person: ends the run, its text is the report
   ├─ BudgetExceeded
   │  └─ DayOver    the day's share is used up: tomorrow there is more
   ├─ NoRoom        the model's server had no room for hours
   ├─ ModelRefused
   │  └─ NotAsked    no model is asked here, by setting or policy
   ├─ ContextFull  the conversation is longer than its model can read
   ├─ Moved        somebody else changed the branch; theirs is left alone
   ├─ PushRefused  a rule of the repository does not let the commits onto the branch
   │  └─ SignaturesRequired
   ├─ PolicyInvalid
   ├─ PrefixChanged the model's server takes a conversation for another than it was
   ├─ BaitTaken    what was laid out as bait was read: somebody looks for secrets
   └─ Unanswered   nobody answered an approval in time
RunStopped (BaseException)   control flow, so that `except Exception` cannot swallow it
├─ Cancelled                 somebody or a shutdown stopped the run between two calls
│  └─ Unneeded               nobody needs what it makes any more
├─ NotYet                    the stage waits for a while, and holds nothing meanwhile
└─ Parked                    the stage waits for a person's decisions, and holds nothing meanwhile
"""

from __future__ import annotations

from collections.abc import Sequence


class FettleError(Exception):
    """Base of every error that Fettle raises on purpose."""


class ConfigError(FettleError):
    """A setting is missing or wrong; the text names it and says the remedy."""


class ModelClosed(ConfigError):
    """The model's server takes no requests of ours: a key was revoked, or its credit is used up."""


class DeliveryError(FettleError):
    """A webhook request is unacceptable; `status` is the HTTP answer, the text its one line."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class TransientError(FettleError):
    """Something outside failed in a way that trying again may heal."""

    def __init__(self, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Overloaded(TransientError):
    """The model's server is rate-limited or overloaded for longer than a call may wait."""


class ToolError(FettleError):
    """A tool call cannot be done; the text tells the model what to do instead."""


class RunError(FettleError):
    """The run cannot go on; the text is what people read: what happened, why, what to do next."""


class BudgetExceeded(RunError):
    """The run reached a limit on dollars, turns or time."""


class DayOver(BudgetExceeded):
    """All runs on the repository together reached the limit of the day."""


class NoRoom(RunError):
    """The model's server had no room for the run, for as long as a run waits."""


class ModelRefused(RunError):
    """The model declined to answer, or its answer never fitted the schema that was asked for."""


class NotAsked(ModelRefused):
    """A setting or the policy allows no model, so that trying again is of no use."""


class Moved(RunError):
    """Somebody else changed the branch that was to be pushed; nothing of theirs was touched."""


class PushRefused(RunError):
    """GitHub does not take the commits: `reason` says by which rule, and what helps."""

    def __init__(self, reason: str, kept: str = "") -> None:
        super().__init__(f"{reason} {kept}".rstrip())
        self.reason = reason


class SignaturesRequired(PushRefused):
    """The repository takes signed commits only, and these are not."""


class PolicyInvalid(RunError):
    """The repository's `.github/fettle.yml` cannot be read."""


class BaitTaken(RunError):
    """The run touched a planted secret (a canary), which no honest work needs."""


class ContextFull(RunError):
    """The conversation is longer than the model can read."""


class PrefixChanged(RunError):
    """The API rejects a conversation: its thinking blocks were signed after a different prompt."""


class Unanswered(RunError):
    """An approval expired before anybody answered it."""


WORDLESS = (BudgetExceeded, ContextFull, ModelRefused)
"""Errors after which a stage that only writes words goes on with words made by code."""


OUTSIDE = (ConfigError, BudgetExceeded, NoRoom, Unanswered)
"""Errors that are no fault of the conversation that they end: once they are mended, it goes on."""


class RunStopped(BaseException):
    """The run leaves its stage without having failed."""


class Cancelled(RunStopped):
    """The run was asked to stop; what it has done so far is kept."""


class Unneeded(Cancelled):
    """Nobody needs what the run makes any more: nothing of it is kept."""


class NotYet(RunStopped):
    """The stage cannot go on before something outside has happened: it is done again then.

    The text says what for, for people, like `other checks to end`.
    """

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what)
        self.seconds = seconds


class Parked(RunStopped):
    """The stage cannot go on before people have decided; `approvals` are the ids they answer."""

    def __init__(self, approvals: Sequence[str]) -> None:
        super().__init__(", ".join(approvals))
        self.approvals = tuple(approvals)
