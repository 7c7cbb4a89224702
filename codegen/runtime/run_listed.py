"""Runs a woven program in this process by the listing of its schedules. Light."""

from __future__ import annotations

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
            report({**host.summary(), "seconds": time.perf_counter() - started})

    at_exit(over)
    run_main(library, words, place)
