"""What came of many suites: figures over all kernels, and where kernels that may be reordered are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .features import FEATURES
from .model import Kernel
from .pipeline import Report


@dataclass
class Tally:
    """Counts over suites.

    Attributes:
        kernels: with a loop left to judge. possible: those that the oracle accepts whatever the data.
        accepted: those of them that tracecut accepts. scheduled: kernels that ran in another order.
        possible_here, accepted_here: the same two for those that the oracle accepts on the program's own data, for
            whatever reason.
        unsound: accepted, though the oracle refuses.
        wrong: whose results differ. stopped: whose plan was wrong, as its replay told and nothing before it: in a
            tuned run the last net. unsteady: whose ordered schedule gives other bits on another number of threads.
            failed: programs that did not end as the original.
        by_feature: feature → (possible, accepted, accepted with a loop around as the scope). reasons: why possible
            ones were refused.
        by_chance: why those were refused that may be reordered on the program's own data alone.
    """

    kernels: int = 0
    possible: int = 0
    accepted: int = 0
    possible_here: int = 0
    accepted_here: int = 0
    scheduled: int = 0
    unsound: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    by_feature: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0, 0] for name in FEATURES})
    reasons: Counter[str] = field(default_factory=Counter)
    by_chance: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Accepted ones of those that may be reordered."""
        return self.accepted / max(1, self.possible)

    def add(self, report: Report, first: Mapping[str, bool], always: Mapping[str, bool]) -> None:
        """Count a suite. `first`, `always`: verdicts of the oracle on the program's own data, and on other data too."""
        seed = report.suite.seed
        self.wrong += [f"seed {seed}, {name}: {what}" for name, what in report.wrong.items()]
        self.unsteady += [f"seed {seed}, {name}: {what}" for name, what in report.unsteady.items()]
        self.stopped += [f"seed {seed}, {name}: {what}" for name, what in report.stopped.items()]
        if report.ran is not None and report.ran.code != 0:
            self.failed.append(f"seed {seed} ended with {report.ran.code}: {report.ran.stderr[-500:]}")
        for kernel in report.suite.kernels:
            self._count(seed, kernel, report, first[kernel.name], always[kernel.name])

    def _count(self, seed: int, kernel: Kernel, report: Report, first: bool, always: bool) -> None:
        verdict = report.verdicts[kernel.name]
        self.scheduled += verdict.scheduled
        if verdict.kind == "gone":
            return
        self.kernels += 1
        if verdict.accepted and not first:
            self.unsound.append(f"seed {seed}, {kernel.name}: {verdict}")
        self.possible_here += first
        self.accepted_here += first and verdict.accepted
        if not always:
            if first and not verdict.accepted:
                self.by_chance[_general(verdict.reason)] += 1
            return
        self.possible += 1
        self.accepted += verdict.accepted
        if not verdict.accepted:
            self.reasons[_general(verdict.reason)] += 1
        for feature in kernel.features:
            self.by_feature[feature][0] += 1
            self.by_feature[feature][1] += verdict.accepted
            self.by_feature[feature][2] += verdict.accepted and verdict.around

    def lines(self) -> Iterable[str]:
        """The figures, then the features and the reasons that cost most."""
        yield f"{self.kernels} kernels with a loop, {self.scheduled} of them ran in another order"
        yield f"{self.accepted} of {self.possible} that may be reordered were accepted: {self.share:.1%}"
        here = self.accepted_here / max(1, self.possible_here)
        yield f"{self.accepted_here} of {self.possible_here} that may be on this data alone were accepted: {here:.1%}"
        checks = ("wrong", self.wrong), ("wrong plans that only a replay stopped", self.stopped)
        checks += (("ordered, with bits that depend on the number of threads", self.unsteady),)
        for name, found in *checks, ("accepted wrongly", self.unsound), ("failed", self.failed):
            yield f"{len(found)} {name}"
            yield from (f"    {text}" for text in found)
        yield "feature               possible accepted in a loop"
        lost = sorted(self.by_feature.items(), key=lambda item: item[1][1] - item[1][0])
        yield from (f"{name:<22}{all:>8}{taken:>9}{inside:>10}" for name, (all, taken, inside) in lost if all)
        yield "refused because"
        yield from (f"{count:>6}  {reason}" for reason, count in self.reasons.most_common())
        yield "refused, though any order does on this data alone, because"
        yield from (f"{count:>6}  {reason}" for reason, count in self.by_chance.most_common())


def _general(reason: str) -> str:
    """A reason without its places and numbers."""
    return "".join("N" if letter.isdigit() else letter for letter in reason.split("; ")[0]).split(" at /")[0][:90]
