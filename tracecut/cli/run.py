"""`tracecut run`: the optimized program in place of the original.

The user's program must see no difference: it gets this process's folder, environment, descriptors, limits and signals,
and its exit status becomes ours. Errors before the start of the program are reported as errors of tracecut.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tracecut.codegen.schedule.reduce_modes import ORDERED
from tracecut.pipeline.output.folder import damaged, digest_of, opened
from tracecut.pipeline.output.use_counts import record
from tracecut.support.errors import UsageError

from .words import Parser, positive, split_words

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from tracecut.codegen.runtime.host import Host
    from tracecut.codegen.runtime.light_host import LightHost

DEVICES = ("cpu", "gpu", "emulated")
COPIERS = 8  # threads that put data in another order on their way to a card; more wait for the same memory
USAGE = "tracecut run OUT [options] [-- program arguments]"


def run_run(words: list[str]) -> int:
    """The command: exits as the program does, or returns the exit status of --check."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # as it would end the program, also before the program has started
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    ours, program = split_words(words)
    parser = Parser(prog="tracecut run", usage=USAGE, allow_abbrev=False)
    parser.add_argument("output", help="folder that `tracecut optimize` wrote")
    parser.add_argument("-v", "--verbose", action="store_true", help="report on stderr which schedules are used")
    parser.add_argument("--threads", type=positive, help="number of threads (default: fastest measured)")
    parser.add_argument("--original", action="store_true", help="run the original loops (for comparison)")
    on = "where loops with kernels run: cpu (default), gpu, or emulated, which runs the kernels on this CPU"
    parser.add_argument("--device", choices=DEVICES, default="cpu", help=on)
    compared = "also run the original and compare: exit status 0 if they agree, 4 if not"
    parser.add_argument("--check", action="store_true", help=compared)
    parser.add_argument("--counters", type=Path, help=argparse.SUPPRESS)
    options, extra = parser.parse_known_args(ours)
    if extra:
        raise UsageError(f"{extra[0]}: not an option of `tracecut run`", hint="Program arguments go after `--`.")
    if options.check:
        if options.original or options.counters is not None:
            raise UsageError("--check runs both programs: it cannot be combined with --original or --counters")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from .run_check import check_result

        return check_result(Path(options.output), program, threads=options.threads, device=options.device)
    run_output(
        Path(options.output),
        program,
        threads=options.threads,
        verbose=options.verbose,
        original=options.original,
        counters=options.counters,
        device=options.device,
    )
    raise AssertionError("the program returned")


def run_output(
    output: Path,
    argv: Sequence[str],
    *,
    threads: int | None = None,
    verbose: bool = False,
    original: bool = False,
    counters: Path | None = None,
    device: str = "cpu",
) -> NoReturn:
    """Run a result of `tracecut optimize`; exits as the program does.

    Where nothing was optimized, or the original was measured to be faster with these arguments on this number of
    `threads`, the original program replaces this process. Raises ArtefactError if the folder is not a result, is
    damaged, or was made by another version.
    """
    with opened(output) as listing:
        program = output / "program"
        if device != "cpu" and not original:
            _run_on_device(output, listing, [str(program), *argv], device, verbose, counters)
        if original and counters is None:
            _run_original(program, argv, "the original program runs" if verbose else "")
        if not listing["scopes"]:
            _run_original(program, argv, "nothing was optimized: the original program runs" if verbose else "")
        listed = listing.get("guards", [])
        if len(listed) != len(listing["scopes"]):
            raise damaged(f"{output} does not state the input that its schedules were made for")
        allowed = sorted(os.sched_getaffinity(0))
        slower = listing.get("slower", {})
        # Ordered results have the same bits on any number of threads, so measured times must not decide which program
        # runs or whether other input is inspected again.
        ordered = listing["reduce"] == ORDERED
        known = counters is None and not original and slower.get("argv") == list(argv) and not ordered
        cpus = allowed[:threads]
        if known and threads is not None and len(cpus) in slower["threads"]:
            count = "1 thread" if len(cpus) == 1 else f"{len(cpus)} threads"
            why = f"on {count} the original program is faster"
            record(output, listing, native=why)
            _run_original(program, argv, f"{why}: it runs" if verbose else "")
        import ctypes

        from tracecut.codegen.runtime.run_listed import run_listed
        from tracecut.support.process.program_identity import become

        # absolute: the program may change its folder, and a library name without a slash is searched in system folders
        folder = Path.cwd() / output
        sys.path[:] = [str(Path.cwd() / path) for path in sys.path]
        words = [str(program), *argv]
        _restore()
        place = become(words)
        try:  # under the lock
            library = ctypes.CDLL(str(folder / "program.so"), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise damaged(f"{folder / 'program.so'} cannot be loaded: {error}") from error
    wanted = threads if threads is not None else max(item["threads"] for item in listed)
    cpus = allowed[: max(1, wanted)]
    remark = ""
    if len(cpus) > 1 and not original:
        cpus, remark = placed_cpus(allowed, len(cpus), listed)
    if verbose:
        _introduce(listed, len(cpus), original)
        if remark:
            _say(f"threads on {remark}")

    def read(name: str) -> bytes:
        data = (folder / name).read_bytes()
        if digest_of(data) != listing["files"][name]:
            raise damaged(f"{output} was replaced since the program started")
        return data

    def load(front: LightHost, say: Callable[[str], None]) -> Host:
        from tracecut.codegen.runtime.host import Host
        from tracecut.codegen.runtime.reinspect import Reinspector, inspect_beside
        from tracecut.codegen.runtime.schedule_file import ScopeFile

        scopes = []
        for name in listing["scopes"]:
            read(name)
            scopes.append(ScopeFile.load(folder / name))
        inspect, beside = (None, None) if ordered else (Reinspector(), inspect_beside)
        return Host(library, scopes, listing["globals"], cpus, say=say, inspect=inspect, beside=beside, front=front)

    def report(found: dict[str, Any]) -> None:
        if counters is None and not original:
            record(folder, listing, found=found)
        if counters is not None:
            import json

            counters.write_text(json.dumps(found))
        if verbose:
            _conclude(found)

    run_listed(
        library,
        listed,
        listing["globals"],
        words,
        place,
        cpus=cpus,
        verbose=verbose,
        enabled=not original,
        inspects=not ordered,
        read=read,
        load=load,
        report=report,
    )


def _run_on_device(
    output: Path, listing: dict[str, Any], words: list[str], which: str, verbose: bool, counters: Path | None
) -> None:
    """Run the program with its kernels; returns, with a remark, where that cannot be."""
    import ctypes

    from tracecut.support.process.program_identity import become

    from .run_device import HERE, conclusion, prepare

    def say(text: str) -> None:
        if verbose:
            _say(text)

    found = prepare(output, listing, which, say)
    if isinstance(found, str):
        _say(found + HERE)
        return
    folder = Path.cwd() / output
    sys.path[:] = [str(Path.cwd() / path) for path in sys.path]
    _restore()
    place = become(words)
    try:  # under the lock
        library = ctypes.CDLL(str(folder / found.entry["library"]), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise damaged(f"{folder / found.entry['library']} cannot be loaded: {error}") from error

    def report(result: dict[str, Any]) -> None:
        if counters is None:
            record(folder, listing, found=result)
        else:
            import json

            counters.write_text(json.dumps(result))
        if verbose:
            _conclude(result, "on the card", "in the program")
            for line in conclusion(result, found.entry.get("sweep_ms", {})):
                _say(line)

    cpus = sorted(os.sched_getaffinity(0))[:COPIERS]
    found.run(library, words, place, cpus=cpus, say=say, report=report)


def placed_cpus(allowed: Sequence[int], threads: int, listed: Sequence[Any]) -> tuple[list[int], str]:
    """The CPU of each thread, the main thread first, and why; from the values that the threads of the schedules
    exchange."""
    import ctypes

    from tracecut.mapping.thread_cpus import joined_talk, threads_here
    from tracecut.tracer.runtime.binding import MAX_THREADS

    count = min(threads, MAX_THREADS)
    talk = joined_talk((scope["talk"] for scope in listed if "talk" in scope), count)
    found = threads_here(allowed, count, talk, int(ctypes.CDLL(None).sched_getcpu()))
    return list(found.cpus), found.remark


def _run_original(program: Path, argv: Sequence[str], remark: str) -> NoReturn:
    """Replace this process by the original program."""
    if remark:
        _say(remark)
    _restore()
    try:
        os.execv(program, [str(program), *argv])
    except OSError as error:
        raise damaged(f"{program} cannot be run: {error.strerror}") from error


def _restore() -> None:
    """Undo what the interpreter changed in this process: signals, locale, environment variable."""
    if faulthandler.is_enabled():  # PYTHONFAULTHANDLER
        _disable_faulthandler()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    import _locale

    _locale.setlocale(_locale.LC_ALL, "C")
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read()
    except OSError:
        return
    if "LC_CTYPE" in os.environ and b"\0LC_CTYPE=" not in b"\0" + given:
        del os.environ["LC_CTYPE"]  # set by the interpreter in the C locale


def _disable_faulthandler() -> None:
    """Restore the handlers of crash signals, and the stack that they run on."""
    import ctypes

    class Stack(ctypes.Structure):
        _fields_ = [("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

    faulthandler.disable()
    ctypes.CDLL(None).sigaltstack(ctypes.byref(Stack(None, 2, 0)), None)  # 2: SS_DISABLE


def _introduce(listed: Sequence[Any], threads: int, original: bool) -> None:
    for scope in listed:
        places = ", ".join(scope["places"])
        if original:
            _say(f"original order: {places}")
        else:
            noun = "1 thread" if threads == 1 else f"{threads} threads"
            _say(f"rescheduled ({scope['method']}, {noun}): {places}")


def _conclude(found: dict[str, Any], there: str = "in the new order", here: str = "in the original order") -> None:
    """Lines on what ran. there, here: what the loops did with a layout in force, and without."""
    for loop, scope in found["scopes"].items():
        copying = scope["nanoseconds"] / 1e9
        why = f"; {scope['refused']}" if scope["refused"] else ""
        which = f" around loop {loop}" if len(found["scopes"]) > 1 else ""
        _say(f"layout{which} used in {scope['used']} of {scope['entries']} entries, {copying:.3f} s of copies{why}")
    for loop, region in found["regions"].items():
        spent = (region["nanoseconds"] + region["original_nanoseconds"]) / 1e9
        _say(f"loop {loop}: {region['calls']} sweeps {there}, {region['declined']} {here}, {spent:.3f} s")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # standard error may be closed, or full
        os.write(2, f"tracecut: {text}\n".encode())
