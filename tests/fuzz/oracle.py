"""Brute force: which loops leave the same behind in whatever order their iterations run.

The oracle is a program of its own. For each kernel it runs the loop as it is written, and then its body in other
orders on the same data: all orders of up to 8 iterations, otherwise some hundred random and adverse ones. It knows
nothing of any analysis. Scalars that the loop carries stay in variables outside of the body, so that each iteration
finds what the one before it, in the order tried, has left; a `break` ends the order tried, but for that of the last
iteration as written, where the loop ends anyway. Integers have to agree
bit by bit, floating-point numbers too unless the kernel adds or multiplies them up.

`entries` names the call of a kernel that is looked at, the first one unless it says: the calls before it, and what
the driver does between them, run as they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .build import compiled, printed
from .emit import PRELUDE, arguments, declarations, function, parameters, prepare, release, rounding
from .model import Kernel, Suite, indent

SEARCH = Path(__file__).with_name("search.c").read_text(encoding="ascii")


def oracle(suite: Suite, entries: Mapping[str, int] | None = None) -> str:
    """The C program that prints `kernel_17 yes|no reason` for each kernel of the suite."""
    entry = {kernel.name: (entries or {}).get(kernel.name, 1) for kernel in suite.kernels}
    lines = [*PRELUDE.splitlines(), *SEARCH.splitlines()]
    for kernel in suite.kernels:
        lines += ["", *declarations(kernel), *function(kernel), *_any_order(kernel)]
        lines += _test(kernel) if entry[kernel.name] == 1 else [*_count(kernel), *_test(kernel, entry[kernel.name])]
    lines += ["", "int main(int argc, char **argv)", "{", "    if (argc > 1)", "        other_data(atoi(argv[1]));"]
    lines += [f"    test_{kernel.number}();" for kernel in suite.kernels]
    return "\n".join([*lines, "    return 0;", "}"]) + "\n"


def run_oracle(suite: Suite, folder: Path, entries: Mapping[str, int] | None = None) -> dict[str, bool]:
    """For each kernel, whether that invocation of its loop may run in any order.

    Raises RuntimeError if the oracle fails, or finds that its own form of a loop does something else.
    """
    return _verdicts(suite, printed(compiled(oracle(suite, entries), folder, "oracle"), folder, "oracle"))


def run_oracles(
    suite: Suite, folder: Path, entries: Mapping[str, int] | None = None, others: int = 4
) -> tuple[dict[str, bool], dict[str, bool]]:
    """What `run_oracle` finds, and which kernels may run in any order on `others` other sets of data too.

    A condition on data may hold for no iteration, two stores may happen to agree, or the least value may come up only
    once: then any order will do, but not for any reason that an analysis of addresses could give. Indices are the
    same in all sets.
    """
    program = compiled(oracle(suite, entries), folder, "oracle")
    first = _verdicts(suite, printed(program, folder, "oracle"))
    always = dict(first)
    for number in range(1, others + 1):
        found = _verdicts(suite, printed(program, folder, "oracle", str(number)))
        always = {name: always[name] and found[name] for name in always}
    return first, always


def _verdicts(suite: Suite, text: str) -> dict[str, bool]:
    verdicts = {}
    for line in text.splitlines():
        name, verdict, reason = line.split(maxsplit=2)
        if verdict not in ("yes", "no"):
            raise RuntimeError(f"{name} of seed {suite.seed} is not the loop that it should be: {reason}")
        verdicts[name] = verdict == "yes"
    return verdicts


def _any_order(kernel: Kernel) -> list[str]:
    """The kernel with its iterations in a given order."""
    loop = kernel.loop
    given = [*parameters(kernel), "const int *order_", "int jobs_"]
    unused = [name.removeprefix("&") for name in arguments(kernel)]  # bounds, which are the loop's alone
    lines = [*(f"(void){name};" for name in unused), *kernel.before]
    lines += [f"{cursor.type} {cursor.name} = {cursor.start};" for cursor in loop.cursors]
    lines += ["int at_ = 0, left_ = 0;", "(void)left_;", *["again_:"] * (not loop.test)]
    lines += ["for (; at_ < jobs_; at_++) {", "long k_ = order_[at_];"]
    for cursor in loop.cursors:
        cast = "" if cursor.type.endswith("*") else f"({cursor.type})"
        lines.append(f"{cursor.name} = {cast}({cursor.start} + k_ * {_signed(cursor.step)});")
    if loop.test:
        lines += [f"if (!({loop.test}))", "    break;"]
    lines += [*kernel.body, "}"]
    if not loop.test:  # leaving the last iteration is how the loop ends anyway
        lines += ["if (at_ < jobs_ && order_[at_] == jobs_ - 1) {", "at_++;", "left_ = 1;", "goto again_;", "}"]
    lines += _used(kernel)
    return [f"static void reordered_{kernel.number}({', '.join(given)})", *indent(["{", *lines, *kernel.after, "}"])]


def _signed(step: str) -> str:
    return f"(long)({step})"


def _used(kernel: Kernel) -> list[str]:
    """After all iterations the counter stands where the loop, or its last iteration, leaves it; nothing is unused."""
    lines = []
    for cursor in kernel.loop.cursors:
        if not cursor.type.endswith("*"):
            end = f"({cursor.type})({cursor.start} + (long)(jobs_ - left_) * {_signed(cursor.step)})"
            lines += ["if (at_ == jobs_)", f"    {cursor.name} = {end};"]
        lines.append(f"(void){cursor.name};")
    return lines


def _count(kernel: Kernel) -> list[str]:
    """How often the body runs, where the driver may give each call another number."""
    loop = kernel.loop
    inside = [*kernel.before, *loop.before, *loop.head, "jobs_++;", *loop.tail]
    lines = ["{", "int jobs_ = 0;", *inside, "return jobs_;", "}"]
    return [f"static int jobs_{kernel.number}({', '.join(parameters(kernel)) or 'void'})", *indent(lines)]


def _test(kernel: Kernel, entry: int = 1) -> list[str]:
    setup, parts = prepare(kernel, slices=True)
    handed = ", ".join(arguments(kernel, later=entry > 1))
    given = ", ".join([*arguments(kernel, later=entry > 1), "s.order", "s.jobs"])
    call = f"{kernel.name}({handed});"
    jobs, earlier = str(kernel.n_jobs), []
    if entry > 1:
        jobs = f"jobs_{kernel.number}({handed})"
        earlier = [f"for (int sweep = 0; sweep < {entry - 1}; sweep++) {{", *kernel.ahead, call, *kernel.between, "}"]
        earlier += [f"const int sweep = {entry - 1};", "(void)sweep;"]
    ends = int(bool(kernel.loop.test))
    lines = [
        *setup,
        *kernel.opening,
        *earlier,
        *kernel.closing,  # all arrays are where `parts` says
        *kernel.ahead,
        f"struct search s = begin({kernel.number}, {jobs} + {ends}, {int(rounding(kernel))}, parts, {parts});",
        call,
        "keep(&s);",
        "while (next_order(&s))",
        f"    reordered_{kernel.number}({given});",
        "report(&s);",
        *release(kernel),
    ]
    return [f"static void test_{kernel.number}(void)", *indent(["{", *lines, "}"])]
