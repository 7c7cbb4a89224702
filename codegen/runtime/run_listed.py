"""Runs a woven program in this process by the listing of its schedules. Light."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import time

from tracecut.support.process.load_and_run import at_exit, run_main

from .light_host import LightHost

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from .light_host import Host


def on_own_heap(work: Callable[[], None]) -> None:
    """Do something at the end of a program in a thread, which gets memory of its own from the C library.

    The first large piece that is asked of the program's memory has the C library join all small ones that the program
    has given back: half a second after a million objects, just before the process ends.
    """
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            work()
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # the process may have no further thread
        work()
        return
    done.acquire()


def run_listed(
    library: ctypes.CDLL,
    listed: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    words: Sequence[str],
    place: int,
    *,
    cpus: Sequence[int],
    verbose: bool,
    enabled: bool,
    inspects: bool = True,
    read: Callable[[str], bytes],
    load: Callable[[LightHost, Callable[[str], None]], Host],
    report: Callable[[dict[str, Any]], None],
) -> NoReturn:
    """Run a woven program in this process, its scopes described by their listing. `place`: address of its argv."""
    said: set[str] = set()

    def say(text: str) -> None:
        if verbose and text not in said:
            said.add(text)
            with contextlib.suppress(OSError):
                os.write(2, f"tracecut: {text}\n".encode())

    host = LightHost(
        library,
        listed,
        names,
        cpus,
        say=say,
        read=read,
        load=lambda host: load(host, say),
        inspects=inspects,
        enabled=enabled,
    )
    started, process = time.perf_counter(), os.getpid()

    def over() -> None:
        if os.getpid() == process:  # a child of the program has nothing to tell
            host.close()
            found = {**host.summary(), "seconds": time.perf_counter() - started}
            on_own_heap(lambda: report(found))

    at_exit(over)
    run_main(library, words, place)
