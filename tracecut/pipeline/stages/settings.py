"""The options of `tracecut optimize`, declared once for the command line, Python and the stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from tracecut.codegen.schedule.reduce_modes import FAST, ORDERED
from tracecut.support.argument_checks import BYTES, COUNT, SECONDS, SEED, Kind, one_of, whole, word
from tracecut.support.errors import ArgumentError, UsageError
from tracecut.support.memory_budget import LEAST

TYPE_CHECKING = False  # as in `typing`: for `--help` nothing of the stages is loaded
if TYPE_CHECKING:
    from typing import Any

    from tracecut.ir.machine.machine import Machine
    from tracecut.tracer.toolchain.flags import Flags


def _no_flags() -> Flags:
    from tracecut.tracer.toolchain.flags import Flags

    return Flags()


def _option(
    help: str, kind: Kind | None = None, check: Callable[[str, Any], Any] | None = None, **words: Any
) -> dict[str, Any]:
    """Declare a field as an option: `words` are for argparse, `kind` parses the value, `check` validates one from
    Python."""
    if kind is not None:
        check, words = check or kind.value, {"type": kind.word, **words}
    return {"check": check, "words": {"help": help, **words}}


def _known_gpu(name: str, value: Any) -> str:
    """A GPU that kernels can be emitted for. Raises ArgumentError."""
    from tracecut.codegen.ptx.nvptx import ARCHITECTURES
    from tracecut.ir.gpu.description import gpu

    text = word(name, value)
    arch = gpu(text).arch
    if arch not in ARCHITECTURES:
        raise ArgumentError(f"{text} is an {arch}, kernels are emitted for {', '.join(ARCHITECTURES)}")
    return str(Path(text).resolve()) if text.endswith(".toml") else text


@dataclass(frozen=True)
class Settings:
    """Options of `optimize`, with the names of the command line.

    Attributes:
        sources, flags, argv: files to compile, compiler flags, program arguments.
        compare: methods that are also measured, for comparison, but never chosen.
        machine: if it is not this machine, orders are predicted for it and nothing is changed. None: this machine.
        min_gain: share of the time of a region, and of the whole program, that has to be saved for a change.
        min_share: smallest share of executed work of a loop that is inspected.
        first_entry: at which entry a loop is captured. min_jobs: smallest loop that is captured.
        byte_limit: of the captured memory of all loops.
        regular: capture loops without a loaded index too, of which kernels may be made.
        force: apply the best order even if it gains nothing (tests). renumber: move data, not only jobs.

    The others are described by `tracecut optimize --help`; None is the default stated there.
    """

    sources: tuple[str, ...]
    flags: Flags = field(default_factory=_no_flags)
    argv: tuple[str, ...] = ()
    output: Path = field(
        default=Path("tracecut-out"), metadata=_option("folder for the results (default: %(default)s)", metavar="OUT")
    )
    method: str = field(default="auto", metadata=_option("order to use: auto, or a name from `tracecut methods`"))
    k: int | None = field(default=None, metadata=_option("number of clusters (default: from the cache sizes)", COUNT))
    threads: int | None = field(default=None, metadata=_option("threads of the result (default: one per core)", COUNT))
    seed: int = field(default=0, metadata=_option("seed of all random choices (default: 0)", SEED))
    budget: float | None = field(
        default=None,
        metadata=_option(
            "seconds after which the whole job tries nothing more, and builds and compares the best that it has "
            "(default: none)",
            SECONDS,
            metavar="S",
        ),
    )
    loop_budget: float | None = field(
        default=None,
        metadata=_option(
            "seconds to try costly orders of each loop (default: ten times what the loop takes, at most 20)",
            SECONDS,
            metavar="S",
        ),
    )
    timeout: float | None = field(
        default=None,
        metadata=_option("time limit of each run of the program in seconds (default: none)", SECONDS, metavar="S"),
    )
    memory: int | None = field(
        default=None,
        metadata=_option(
            "memory limit of each tracecut process (default: half of the free memory)",
            BYTES,
            whole(LEAST).value,
            metavar="SIZE",
        ),
    )
    stdin: Path | None = field(
        default=None, metadata=_option("standard input of the program (default: empty)", metavar="FILE")
    )
    region: str | None = field(
        default=None, metadata=_option("optimize the loop that starts on this line", check=word, metavar="FILE:LINE")
    )
    arch: tuple[str, ...] = field(
        default=("sm_90",),
        metadata=_option("GPU architecture to emit kernels for (default: sm_90)", action="append", metavar="SM"),
    )
    gpu: str | None = field(
        default=None,
        metadata=_option(
            "also choose a kernel of each hot loop for this GPU by the memory model: h200, a100, FILE.toml, …",
            check=_known_gpu,
            metavar="GPU",
        ),
    )
    exact: bool = field(
        default=False,
        metadata=_option("only orders that keep every bit: floating-point sums are not reordered", action="store_true"),
    )
    reduce: str = field(
        default=FAST,
        metadata=_option(
            "ordered: sums have the same bits on any number of threads (default: fast)",
            check=partial(one_of, known=(FAST, ORDERED)),
            choices=(FAST, ORDERED),
        ),
    )
    in_copy: bool = field(
        default=False,
        metadata=_option(
            "run the program in scratch copies of the current folder, so that its files stay as they are",
            action="store_true",
        ),
    )
    fresh: bool = field(
        default=False,
        metadata=_option("do all work again, also where OUT has the answer to the same question", action="store_true"),
    )
    compare: tuple[str, ...] = ()
    machine: Machine | None = field(
        default=None,
        metadata=_option("predict for another machine, change nothing: FILE.toml, mesh:8x8, … (`tracecut machine`)"),
    )
    min_gain: float = 0.02
    min_share: float = 0.02
    first_entry: int = 2
    min_jobs: int = 64
    byte_limit: int = 8 << 30
    regular: bool = False
    force: bool = False
    renumber: bool = True

    @property
    def loop_seconds(self) -> float:
        """Seconds that costly orders of one loop take at most."""
        return 20.0 if self.loop_budget is None else self.loop_budget

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """Settings from the result of `dataclass_json.to_json`."""
        from tracecut.ir.machine.machine import Machine
        from tracecut.support.dataclass_json import from_json
        from tracecut.tracer.toolchain.flags import Flags

        return from_json(cls, data, {"Flags": Flags, "Machine": Machine})


OPTIONS = {item.name: item for item in fields(Settings) if item.metadata}


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate values from Python; None for a default. Raises ArgumentError."""
    found = {}
    for name, value in values.items():
        check = OPTIONS[name].metadata["check"]
        unset = check is None or (value is None and OPTIONS[name].default is None)
        found[name] = value if unset else check(name, value)
    return found


def parse_place(region: str) -> tuple[str, int]:
    """File and line of a `FILE:LINE`. Raises UsageError."""
    file, _, line = region.rpartition(":")
    if not file or not re.fullmatch("[0-9]{1,9}", line):
        raise UsageError(f"--region {region}: FILE:LINE expected", hint="For example --region mesh.c:120.")
    return file, int(line)
