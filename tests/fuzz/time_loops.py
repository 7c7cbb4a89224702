"""Random time loops on an emulated card: kernels, loops of the host, blocks of bytes and single values in turns.

python -m tests.fuzz.time_loops --first 1 --seeds 20            programs of ten time loops each
python -m tests.fuzz.time_loops --first 1 --seeds 20 --counted  with loops that run as often as data say
python -m tests.fuzz.time_loops --first 1 --seeds 20 --strict   warps take turns, and races are looked for

Each time loop runs twice, the second time with other indices. All arithmetic is on whole numbers that wrap, so that
every bit has to be as in the program.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run

from ..codegen.harness import trace
from ..codegen.offload.on_card import Asked, card_scopes, run_on_card
from ..waiting import HUNG
from .strict_card import emulated_card, strict_card

N = 64
ARRAYS = "xyzw"
VARIANTS = ("swap", "smem", "readonly", "original")
HEAD = f"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum {{ N = {N}, M = 4 * N }};
typedef unsigned long number;
static int e[2 * M], g[N], p[N + 1], q[N], m[2];
static void indices(unsigned s, int twice) {{
    for (int i = 0; i < 2 * M; i++) {{ s = s * 1664525u + 1013904223u; e[i] = (int)((s >> 8) % N); }}
    for (int i = 0; i < N; i++) g[i] = twice ? i * i % N : (i * 13 + 5) % N;
    for (int i = 0; i < N; i++) q[i] = e[3 * i] % 4, p[i + 1] = p[i] + e[3 * i + 1] % 5;
    m[0] = N - 3 - twice, m[1] = 7;
}}
"""


@dataclass
class Tally:
    """Counts over programs: time loops, those that ran on the card, launches; what differs."""

    loops: int = 0
    ran: int = 0
    launches: int = 0
    wrong: list[str] = field(default_factory=list)


def counted(draw: random.Random, a: str, b: str, d: str) -> dict[str, list[str]]:
    """Statements with loops that run as often as data say, which some of them change. Rows end within 2 * M."""
    return {
        "rows": [
            "for (int i = 0; i < N; i++) {",
            "    number f = 1;",
            f"    for (int k = p[i]; k < p[i + 1]; k++) f += {d}[e[k]] * 3;",
            f"    {a}[i] {draw.choice(['=', '+=', '^='])} f;",
            "}",
        ],
        "spread": [
            "for (int i = 0; i < N; i++)",
            f"    for (int k = p[i]; k < p[i + 1]; k++) {a}[e[k]] += {d}[i] * 5;",
        ],
        "repeated": [
            "for (int i = 0; i < N; i++)",
            f"    for (int k = 0; k < q[i]; k++) {a}[i] = {a}[i] * 3 + {d}[g[i]] + k;",
        ],
        "first": [f"for (int i = 0; i < m[0]; i++) {a}[i] += {b}[i] * 3 + 1;"],
        "first gathered": [f"for (int i = 0; i < m[0]; i++) {a}[i] = {d}[g[i]] + {draw.randrange(9)};"],
        "from": [f"for (int i = m[1]; i < N; i++) {a}[g[i]] += {d}[i];"],
        "one more": [f"q[(t * 11) % N] = (q[(t * 11) % N] + {draw.randrange(4)}) % 5;"],
        "fewer": [f"m[0] = m[0] > {N // 2} ? m[0] - {draw.randrange(3)} : N;"],
        "later": [f"m[1] = (m[1] + {draw.randrange(2)}) % N;"],
    }


def statement(draw: random.Random, depth: int = 0, *, data_count: bool = False) -> list[str]:
    """One statement of a time loop, over arrays that `draw` picks."""
    a, b, c = (draw.choice(ARRAYS) for _ in range(3))
    d = draw.choice([name for name in ARRAYS if name != a])
    low, part = draw.choice([(0, N), (N // 4, N // 2), (N // 2, N // 4), (0, N // 3)])
    found = {
        "update": [f"for (int i = 0; i < N; i++) {a}[i] += {b}[i] * 3 + {c}[i];"],
        "part": [f"for (int i = {low}; i < {low + part}; i++) {a}[i] = {a}[i] * 5 + {b}[i];"],
        "down": [f"for (int i = N - 1; i >= 0; i--) {a}[i] = {b}[i] + {d}[i];"],
        "beside": [f"for (int i = 0; i < N - 1; i++) {a}[i] += {d}[i + 1] * 2;"],
        "recurrence": [f"for (int i = 1; i < N; i++) {a}[i] += {a}[i - 1] * 5 + {b}[i];"],
        "gather": [f"for (int i = 0; i < N; i++) {a}[i] = {d}[g[i]] + {draw.randrange(9)};"],
        "put": [f"for (int i = 0; i < N; i++) {a}[g[i]] = {d}[i] + {draw.randrange(9)};"],
        "scatter": [f"for (int i = 0; i < N; i++) {a}[g[i]] += {d}[i];"],
        "edges": [
            "for (int k = 0; k < M; k++) {",
            f"    number f = {d}[e[2 * k]] * 3 - {d}[e[2 * k + 1]];",
            f"    {a}[e[2 * k]] -= f;",
            f"    {a}[e[2 * k + 1]] += f;",
            "}",
        ],
        "sum": ["s = 0;", f"for (int i = 0; i < N; i++) s += {a}[i] * {b}[i];", f"{c}[{draw.randrange(N)}] += s;"],
        "fill": [f"memset({a} + {low}, {draw.randrange(3)}, {part} * sizeof(number));"],
        "copy": [f"memcpy({a} + {low}, {d} + {draw.choice([0, low])}, {part} * sizeof(number));"],
        "shift": [f"memmove({a} + 1, {a}, (N - 1) * sizeof(number));"],
        "store": [f"{a}[(t * 7 + {draw.randrange(N)}) % N] = {b}[{draw.randrange(N)}] + t;"],
        "look": [f"total = total * 31 + {a}[(t * 5) % N];"],
        "exchange": ["{ number *p = x; x = y; y = p; }"],
    }
    names = [*found, "update", "edges", "gather"]
    if data_count:
        more = counted(draw, a, b, d)
        names += [*more, "rows", "spread", "repeated", "first", "first gathered"]
        found |= more
    if depth == 0:
        seldom = statement(draw, 1, data_count=data_count)
        found["seldom"] = [f"if (t % {draw.choice([2, 3])} == 1) {{", *seldom, "}"]
        names.append("seldom")
    return found[draw.choice(names)]


def time_loop(number: int, draw: random.Random, *, data_count: bool = False) -> str:
    """A function with a time loop whose first loop is marked."""
    storage = [
        f"    static number {name}_[N];\n    number *{name} = {name}_;"
        if draw.random() < 0.5
        else f"    number *{name} = malloc(N * sizeof *{name});"
        for name in ARRAYS
    ]
    body = [line for _ in range(draw.randint(2, 6)) for line in statement(draw, data_count=data_count)]
    at = draw.randrange(len(body) + 1)
    while any(line.startswith((" ", "}")) for line in body[at : at + 1]):  # not in the middle of one
        at += 1
    marked = [
        f"for (int k = 0; k < M; k++) {{ // @loop_{number}",
        "    number f = x[e[2 * k]] - x[e[2 * k + 1]] * 3;",
        "    z[e[2 * k]] -= f;",
        "    z[e[2 * k + 1]] += f;",
        "}",
    ]
    if data_count and draw.random() < 0.6:
        extent = draw.choice(["N", "m[0]"])
        marked = [
            f"for (int i = 0; i < {extent}; i++) {{ // @loop_{number}",
            "    number f = 1;",
            f"    for (int k = {draw.choice(['p[i]', '0'])}; k < {draw.choice(['p[i + 1]', 'q[i]'])}; k++)",
            "        f += x[e[k]] * 3;",
            f"    {draw.choice(['z[i] += f', 'z[g[i]] += f', 'z[i] = f ^ y[i]'])};",
            "}",
        ]
    body[at:at] = marked
    steps = draw.randint(3, 7)
    lines = [
        f"static __attribute__((noinline)) void run_{number}(void) {{",
        *storage,
        "    number total = 1, s = 0;",
        "    for (int i = 0; i < N; i++) x[i] = i * 3 + 1, y[i] = i * i, z[i] = 7 * i, w[i] = i ^ 5;",
        f"    for (int t = 0; t < {steps}; t++) {{",
        *(f"        {line}" for line in body),
        "    }",
        f'    printf("loop_{number} %lu %lu", total, s);',
        '    for (int i = 0; i < N; i++) printf(" %lx %lx %lx %lx", x[i], y[i], z[i], w[i]);',
        '    printf("\\n");',
        "}",
    ]
    return "\n".join(lines)


def program_of(seed: int, count: int, *, data_count: bool = False) -> str:
    draw = random.Random(f"{seed}/counted" if data_count else seed)
    loops = [time_loop(number, draw, data_count=data_count) for number in range(count)]
    calls = " ".join(f"run_{number}();" for number in range(count))
    again = f"indices(11, 1); {calls}"  # other indices, some of them several times
    return "\n".join([HEAD, *loops, f"int main(void) {{ indices(7, 0); {calls} {again} return 0; }}", ""])


def check(seed: int, count: int, folder: Path, tally: Tally, *, data_count: bool = False, strict: bool = False) -> None:
    """Run a program as it is and with its loops on the card. `strict`: warps take turns, races are looked for."""
    program = trace(program_of(seed, count, data_count=data_count), folder)
    asked = []
    for number in range(count):
        tally.loops += 1
        try:
            item = program.inspect(f"loop_{number}", look_up=False)
        except UnsupportedError:
            continue
        for variant in (VARIANTS[(seed + number) % len(VARIANTS)], "swap"):
            try:
                card_scopes([Asked(item, variant, item.random(number))])
            except UnsupportedError:
                continue
            asked.append(Asked(item, variant, item.random(number)))
            break
    if not asked:
        return
    native = run([program.compiled.native], folder=folder, name="native", limits=Limits(HUNG))
    ran = run_on_card(program, card_scopes(asked), device=(lambda: strict_card(seed)) if strict else emulated_card)
    tally.ran += sum(count > 0 for count in ran.used.values())
    tally.launches += ran.report.get("device", {}).get("launches", 0)
    expected, found = native.stdout.read_text().splitlines(), ran.stdout.decode(errors="replace").splitlines()
    if ran.code or len(expected) != len(found):
        tally.wrong.append(f"seed {seed}: ended with {ran.code}: {ran.stderr[-300:]}")
    tally.wrong += [
        f"seed {seed}, {line.split()[0]}" for line, other in zip(expected, found, strict=False) if line != other
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.time_loops", description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds")
    parser.add_argument("--count", type=int, default=10, help="time loops of each seed")
    parser.add_argument("--counted", action="store_true", help="loops that run as often as data say, too")
    parser.add_argument("--strict", action="store_true", help="warps take turns, and races are looked for")
    options = parser.parse_args()
    tally = Tally()
    for seed in range(options.first, options.first + options.seeds):
        with TemporaryDirectory(prefix="tracecut-loops-") as folder:
            check(seed, options.count, Path(folder), tally, data_count=options.counted, strict=options.strict)
        print(f"seed {seed}: {tally.ran}/{tally.loops} on the card, {len(tally.wrong)} wrong", file=sys.stderr)
    print(f"{tally.loops} time loops, {tally.ran} on the card with {tally.launches} launches, {len(tally.wrong)} wrong")
    print(*tally.wrong, sep="\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    from . import installed  # noqa: F401

    sys.exit(main())
