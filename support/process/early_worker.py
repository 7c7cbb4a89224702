"""A worker that is started before there is work for it, and loads its modules meanwhile.

Python, Numba and the compiled kernels take two seconds to load, about as long as a small job. A second processor can do
that while the program runs that the job is about.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tracecut.support.errors import TracecutError

from .runner import TICK, Finished
from .workers import followed, run_hosted, worker_environment, worker_result

POLL = 0.005  # seconds between two looks for the work
NAME = "early"


class _Stopped(Exception):
    """The worker is not needed, or out of time."""


class EarlyWorker:
    """One worker process, for one job at most: `run_worker` in two steps.

    Args:
        module: of the worker, which takes its specification from `awaited`. folder: of its own, which must not exist.
        memory: limit of its private writable memory, in bytes.
    """

    def __init__(self, module: str, folder: Path, memory: int) -> None:
        folder.mkdir(parents=True)
        self.module, self.folder, self.memory = module, folder, memory
        self._spec = folder / "spec.json"
        self._stop = threading.Event()
        self._finished: Finished | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._host, daemon=True)
        self._thread.start()

    def _host(self) -> None:
        try:
            self._finished = run_hosted(
                self.module,
                [self._spec],
                stdin=None,
                folder=self.folder,
                name=NAME,
                timeout=None,
                memory=self.memory,
                env=worker_environment(),
                tick=self._tick,
            )
        except _Stopped:
            pass
        except Exception as error:  # it belongs to the thread that wants the result
            self._error = error

    def _tick(self, _: float) -> None:
        if self._stop.is_set():
            raise _Stopped

    def work(
        self, spec: Mapping[str, Any], result: Path, name: str, say: Callable[[str], None], seconds: float | None = None
    ) -> Any:
        """Give it its work and wait for the result. `result`: the file that the worker writes it to; `seconds`: limit.

        Raises TracecutError when the worker dies: its output is the detail.
        """
        result.parent.mkdir(parents=True, exist_ok=True)
        follow = followed(self.folder / f"{NAME}.stdout", say)
        began = time.monotonic()
        written = self.folder / "spec.json.part"
        written.write_text(json.dumps(spec))
        written.rename(self._spec)
        while self._thread.is_alive():
            self._thread.join(TICK)
            follow()
            if seconds is not None and time.monotonic() - began > seconds:
                self.stop()
                raise TracecutError(f"the worker {name} ran longer than {seconds:g} s and was stopped")
        if self._error is not None:
            raise self._error
        assert self._finished is not None
        return worker_result(self._finished, result, name)

    def stop(self) -> None:
        """End it; nothing happens if it has ended already."""
        self._stop.set()
        self._thread.join()


def awaited(spec: Path, prepare: Callable[[], None]) -> Path:
    """In the worker: wait until there is work, preparing for it if there is none yet. Returns the same path."""
    if not spec.exists():
        prepare()
        sys.stdout.flush()
    while not spec.exists():
        time.sleep(POLL)
    return spec
