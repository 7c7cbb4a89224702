"""Random programs whose loops run on an emulated card, in the program's place.

python -m tests.fuzz.on_card --first 900 --seeds 10             in a random order, in turns of all variants
python -m tests.fuzz.on_card --first 900 --seeds 10 --anyhow    as for other indices than those that were traced
python -m tests.fuzz.on_card --first 900 --seeds 10 --strict    warps take turns, and races are looked for
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.codegen.kernels.make_region_kernel import BLOCK_VARIANTS
from tracecut.codegen.offload.card_scope import CardScope
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.fingerprint_key import Secret

from ..codegen.offload.on_card import Asked, card_scopes, run_on_card
from .generate import generate
from .model import Suite
from .pipeline import Verdict, _wrong, few_jobs, judge, traced
from .strict_card import emulated_card, strict_card

VARIANTS = ("smem", "swap", "readonly", "original", "swap-indirect")


@dataclass
class CardTally:
    """Counts over suites.

    Attributes:
        accepted: loops that may be reordered on the host. ran: those that ran on the card.
        loops: with a kernel, those around the accepted ones included. wrong: what differs. refused: why not, by loop.
    """

    accepted: int = 0
    ran: int = 0
    loops: int = 0
    wrong: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def check_on_card(suite: Suite, folder: Path, tally: CardTally, *, anyhow: bool = False, strict: bool = False) -> None:
    """Run a suite with a kernel in place of each loop that may be reordered, in turns of all variants.

    `anyhow`: guards take the indices for others, so that the kernels for any indices run. `strict`: warps take turns,
    and races are looked for.
    """
    program = traced(suite, folder)
    verdicts: dict[str, Verdict] = {}
    scopes: list[CardScope] = []
    marks: dict[int, str] = {}
    taken: set[int] = set()
    with few_jobs():
        for kernel in suite.kernels:
            verdicts[kernel.name], item = judge(program, kernel, look_up=False)
            if item is None or taken & item.inspection.accesses.nest.loops.keys():
                continue
            tally.accepted += 1
            first = (suite.seed + kernel.number) % len(VARIANTS)
            for variant in (*VARIANTS[first:], *VARIANTS[:first]):
                try:
                    (made,) = card_scopes([Asked(item, variant, item.random(suite.seed * 1000 + kernel.number))])
                except UnsupportedError as error:
                    if variant not in BLOCK_VARIANTS:
                        tally.refused[kernel.name] = error.message
                    continue
                number = sum(len(other.file.numbers) for other in scopes)
                numbers = {loop: number + place for place, loop in enumerate(made.file.numbers)}
                file = replace(made.file, number=len(scopes), numbers=numbers)
                scopes.append(replace(made, file=replace(file, key=Secret.draw()) if anyhow else file))
                marks[item.scope] = kernel.name
                taken |= item.inspection.accesses.nest.loops.keys()
                break
        if not scopes:
            return
        ran = run_on_card(program, scopes, device=(lambda: strict_card(suite.seed)) if strict else emulated_card)
    for scope, found in ran.report["scopes"].items():
        name = marks[int(scope)]
        verdicts[name] = replace(verdicts[name], scheduled=True, used=found["used"])
        tally.ran += found["used"] > 0
        if not found["used"]:
            tally.refused[f"seed {suite.seed}, {name}"] = found["refused"]
    tally.loops += sum(len(item.kernels.loops) for item in scopes)
    if ran.code:
        tally.wrong[f"seed {suite.seed}"] = f"ended with {ran.code}: {ran.stderr[-500:]}"
    tally.wrong |= {f"seed {suite.seed}, {name}": what for name, what in _wrong(suite, program, verdicts, ran).items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.on_card", description=__doc__)
    parser.add_argument("--first", type=int, default=900, help="first seed")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds")
    parser.add_argument("--count", type=int, default=100, help="kernels of each seed")
    parser.add_argument("--anyhow", action="store_true", help="take the indices for others")
    parser.add_argument("--strict", action="store_true", help="warps take turns, and races are looked for")
    options = parser.parse_args()
    tally = CardTally()
    for seed in range(options.first, options.first + options.seeds):
        with TemporaryDirectory(prefix="tracecut-card-") as folder:
            suite = generate(seed, options.count)
            check_on_card(suite, Path(folder), tally, anyhow=options.anyhow, strict=options.strict)
        print(f"seed {seed}: {tally.ran}/{tally.accepted} on the card, {len(tally.wrong)} wrong", file=sys.stderr)
    print(
        f"{tally.accepted} accepted, {tally.ran} ran on the card with {tally.loops} kernels, {len(tally.wrong)} wrong"
    )
    print(*(f"{name}: {what}" for name, what in [*tally.wrong.items(), *tally.refused.items()]), sep="\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
