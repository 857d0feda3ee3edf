"""What became of the attacks, by class: told by the tests of every process, printed by one."""

from __future__ import annotations

from collections import defaultdict

CLASSES = {
    1: "hidden text",
    2: "text edited after the trigger",
    3: "planted instructions",
    4: "outsiders and bots",
    5: "poisoned output",
    6: "exfiltration by network",
    7: "exfiltration by published text",
    8: "mentions, commands, closing words",
    9: "protected files",
    10: "install scripts and plugins",
    11: "approving itself",
    12: "spoofed approvals",
    13: "forged and replayed deliveries",
    14: "webfetch into the network",
    15: "floods and bombs",
    16: "traces in logs and terminals",
    17: "one run poisoning the next",
}
PROPERTY = "attacks"


def tell(node, number, blocked):
    """Have the test's report say of each attack of this class whether it was blocked.

    None stands for one that does not bite where nothing is defended: it proves nothing.
    """
    node.user_properties.append((PROPERTY, [number, blocked]))


class Board:
    """A plugin for the process that prints: reports reach it from all that run tests."""

    def __init__(self):
        self._blocked = defaultdict(list)

    def pytest_runtest_logreport(self, report):
        """Gather what a test told; only its last report has it all."""
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == PROPERTY:
                    number, blocked = value
                    self._blocked[number] += blocked

    def pytest_terminal_summary(self, terminalreporter):
        """Print the block rate of each class that was attacked."""
        if not self._blocked:
            return
        terminalreporter.section("attacks, by class")
        head = "".join(f"{each:>10}" for each in ("tried", "blocked", "through", "could not"))
        terminalreporter.write_line(f"    {'':36} {head}")
        for number in sorted(self._blocked):
            line = f"{number:3} {CLASSES[number]:36} {_rate(self._blocked[number])}"
            terminalreporter.write_line(line)
        every = [held for blocked in self._blocked.values() for held in blocked]
        terminalreporter.write_line(f"    {'all':36} {_rate(every)}")


def _rate(blocked):
    if not blocked:  # its tests came to no attack, and have failed for that
        return "   nothing was attacked"
    tried = [held for held in blocked if held is not None]
    numbers = (len(tried), sum(tried), len(tried) - sum(tried), len(blocked) - len(tried))
    return "".join(f"{each:10}" for each in numbers)
