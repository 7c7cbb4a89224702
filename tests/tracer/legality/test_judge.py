"""The verdict on small loops: one that is accepted and one that is refused for each rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.judge import Verdict, judge
from tracecut.tracer.runtime.hook_slots import named_numbers

from ...codegen.harness import Program, trace

SOURCE = Path(__file__).parents[1] / "programs" / "legality.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return trace(SOURCE.read_text(), tmp_path_factory.mktemp("legality"))


def verdict_on(program: Program, mark: str, *, use_data: bool = False) -> Verdict:
    """Verdict on the marked loop, as a region of its own."""
    loop = program.loop(mark)
    capture, nest = program.capture(loop), program.nest(loop)
    numbers = named_numbers(program.traced.values[loop], capture.values[loop])
    memory = capture.seen_by(nest, numbers).memory
    return judge(Accesses(nest, memory, numbers, single=False, use_data=use_data), loop)


PARALLEL = (
    "gather scatter in_place halves far_lag fields backwards guarded own_only math rows pieces search blocks local "
    "ended some_row from_global own_update found_again found_field"
).split()

REDUCTIONS = {
    "sum": "add",
    "minus": "add",
    "fsum": "fadd",
    "fused": "fadd",
    "product": "mul",
    "fproduct": "fmul",
    "all": "and",
    "any": "or",
    "parity": "xor",
    "least": "smin",
    "most": "smax",
    "uleast": "umin",
    "umost": "umax",
    "fleast": "minnum",
    "fmost": "maxnum",
    "least_by_if": "smin",
    "most_by_if": "fmax",
    "narrow": "add",
    "chained": "add",
    "maybe": "add",
    "both_ends": "fadd",
    "elsewhere": "add",
    "two_kinds": "add mul",
    "in_register": "fadd",
    "longest": "smax",
    "tally": "add xor",
    "nested_sum": "fadd",
    "narrow_least": "smin",
    "same_update": "the same update",
    "given_update": "the same update",
    "inner_update": "the same update",
}


@dataclass(frozen=True)
class Refused:
    """A verdict that forbids: its kind, words of its reason, words of the source lines that it names."""

    kind: str
    reason: str
    lines: tuple[str, ...] = ()


def ordered(verbs: str, first: str, second: str) -> Refused:
    return Refused("ordered", verbs, (first, second))


CARRIED = "the loop carries a value across iterations"
REFUSED = {
    "observed": ordered("updated", "@observed", "@observed"),
    "seen_later": ordered("", "// ", "// "),
    "mixed": ordered("updated and updated", "// adds", "// multiplies"),
    "sum_of_own": ordered("", "@sum_of_own", "@sum_of_own"),
    "nested_update": ordered("read and written", "@inner_update", "@inner_update"),
    "wide_update": ordered("written", "@wide_update", "@wide_update"),
    "two_updates": ordered("read and ", "@two_updates", "@two_updates"),
    "seen_update": ordered("read and written", "@seen_update", "@seen_update"),
    "cut_update": ordered("", "@cut_update", "@cut_update"),
    "found_other": ordered("written and written", "e[i].b", "e[i].b"),
    "narrow_cut": ordered("read and written", "@narrow_cut", "@narrow_cut"),
    "damped": ordered("read and written", "@damped", "@damped"),
    "reversed": ordered("read and written", "@reversed", "@reversed"),
    "quotient": ordered("read and written", "@quotient", "@quotient"),
    "shifted": ordered("read and written", "@shifted", "@shifted"),
    "own_test": ordered("", "@own_test", "@own_test"),
    "takes_nan": ordered("read and written", "@takes_nan", "@takes_nan"),
    "relax": ordered("", "@relax", "@relax"),
    "where": Refused("ordered", CARRIED, ("@where", "@where")),
    "sticky": ordered("read and written", "@sticky", "@sticky"),
    "cut": ordered("read and written", "@cut", "@cut"),
    "doubled": ordered("", "@doubled", "@doubled"),
    "torn": ordered("updated and updated", "// whole", "// whole"),
    "two_types": ordered("updated and updated", "// as int", "// as float"),
    "half_of": ordered("updated and updated", "@half_of", "@half_of"),
    "raw": ordered("written and read", "// writes", "// reads"),
    "war": ordered("read and written", "// reads ahead", "// writes behind"),
    "waw": ordered("written and written", "@waw", "@waw"),
    "lag": ordered("written and read", "@lag", "@lag"),
    "mirror": ordered("", "@mirror", "@mirror"),
    "half_read": ordered("", "// ", "// "),
    "block_overlap": ordered("written and written", "@block_overlap", "@block_overlap"),
    "block_of_any_size": Refused("rejected", "it is not known which element is read", ("@block_of_any_size",) * 2),
    "two_ways": ordered("written and written", "y[k] = x[i]", "y[k] = x[i]"),
    "scratch": Refused("ordered", "both touch a local variable of 64 bytes, byte ", ("@scratch", "@scratch")),
    "running": Refused("ordered", CARRIED, ("@running", "@running")),
    "decay": Refused("ordered", CARRIED, ("@decay", "@decay")),
    "hunt": Refused("ordered", CARRIED, ("@hunt", "@hunt")),
    "compact": Refused("ordered", CARRIED, ("@compact", "@compact")),
    "last": Refused("ordered", "the loop leaves a value of its last iteration to later code", ("@last",)),
    "latest": Refused("ordered", CARRIED, ("@latest", "@latest")),
    "previous": Refused("rejected", "carries a loaded value to its next iteration", ("@previous", "@previous")),
    "shaky": Refused("rejected", "a volatile or atomic access", ("@shaky",)),
    "atomically": Refused("rejected", "an atomic operation (atomicrmw)", ("@atomically",)),
    "atomic_read": Refused("rejected", "a volatile or atomic access", ("@atomic_read",)),
    "ended_by_data": Refused("ordered", "both touch", ("y[m[4 * i + j] & 31] = i", "y[m[4 * i + j] & 31] = i")),
    "talks": Refused("rejected", "a call to printf", ("@talks",)),
    "unknown": Refused("rejected", "a call to getuid, whose effects are not known", ("@unknown",)),
    "behind_pointer": Refused("rejected", "whose effects are not known", ("@behind_pointer",)),
    "allocates": Refused("rejected", "a call to malloc", ("@allocates",)),
    "clocked": Refused("rejected", "a call to clock", ("@clocked",)),
    "assembly": Refused("rejected", "inline assembly", ("@assembly",)),
    "own_index": Refused("rejected", "is overwritten at", ("@own_index", "@own_index")),
    "stranger": Refused("rejected", "it is not known which memory is written", ("@stranger",)),
    "from_stranger": Refused("rejected", "it is not known which memory is read", ("@from_stranger", "@from_stranger")),
}
# Loops that are not captured at all, since how often they run is not known before they do.
UNCOUNTED = {
    "walks": "has an exit test that depends on what it computes",
    "either": "is left in several places",
}
# Loops that something may end early: verdicts are for runs in which nothing does.
ENDED = {"stops": False, "until": True, "halfway": False}


@pytest.mark.parametrize("mark", PARALLEL)
def test_iterations_that_share_nothing(program: Program, mark: str) -> None:
    found = verdict_on(program, mark)
    assert (found.kind, found.operators, found.rounding, found.movable) == ("parallel", (), False, True), found.reason


@pytest.mark.parametrize("mark", REDUCTIONS)
def test_reductions(program: Program, mark: str) -> None:
    found = verdict_on(program, mark)
    assert (found.kind, " ".join(found.operators)) == ("reduction", REDUCTIONS[mark]), found.reason
    assert found.movable
    assert found.rounding == (REDUCTIONS[mark] in ("fadd", "fmul", "fmax"))


@pytest.mark.parametrize("mark", REFUSED)
def test_refused(program: Program, mark: str) -> None:
    expected = REFUSED[mark]
    found = verdict_on(program, mark)
    assert found.kind == expected.kind, found.reason
    assert not found.movable
    assert expected.reason in found.reason
    text = SOURCE.read_text().splitlines()
    named = [text[place.line - 1] for place in found.places]
    assert len(named) == len(expected.lines), named
    for line, words in zip(named, expected.lines, strict=True):
        assert words in line


@pytest.mark.parametrize("mark", UNCOUNTED)
def test_without_a_trip_count(program: Program, mark: str) -> None:
    loop = program.loop(mark)
    info = program.compiled.analysis.nest(loop).loops[loop]
    assert info.trip is None
    assert info.why == UNCOUNTED[mark]
    assert {place.line for place in info.evidence} == {program.lines[mark]}
    assert loop not in program.traced.profile.captures


@pytest.mark.parametrize("mark", ENDED)
def test_what_may_end_early(program: Program, mark: str) -> None:
    loop = program.loop(mark)
    info = program.compiled.analysis.nest(loop).loops[loop]
    assert info.trip is not None and len(info.early) == 1
    assert info.why == "may be left early"
    assert (loop in program.traced.profile.captures) == ENDED[mark]
    if ENDED[mark]:
        assert verdict_on(program, mark).kind == "parallel"


def test_a_loop_with_a_second_entry_is_none(program: Program) -> None:
    """What a goto enters in the middle is no natural loop: nothing of it is ever described as one."""
    lines = {record.place.line for record in program.compiled.analysis.records}
    assert program.lines["jumps"] not in lines


def test_every_loop_of_the_program_is_expected_to_be_something(program: Program) -> None:
    assert {*PARALLEL, *REDUCTIONS, *REFUSED, *UNCOUNTED, *ENDED, "jumps"} == set(program.lines)


def test_tracing_changes_nothing_that_can_be_seen(program: Program) -> None:
    assert program.native.returncode == program.traced.finished.returncode == 0
    assert program.native.stdout.read_bytes() == program.traced.finished.stdout.read_bytes()
    assert program.native.stderr.read_bytes() == program.traced.finished.stderr.read_bytes()
