"""Shared fixtures, and the option that writes golden files anew."""

from __future__ import annotations

import difflib
import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tracecut.support import plain_kernels
from tracecut.support.garbage_collection import collect_seldom

from .long_cases import LongCases
from .plain_rooms import PlainRooms

# A change is judged on the same examples each time; `--hypothesis-profile=search` draws others. How long one of them
# takes decides nothing: the first may load or compile a kernel.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile("same")

# What is started from here need not start threads for linear algebra, which look for work while others are measured.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Started in the background, pytest may ignore some signals; programs inherit that from it, but never a handler.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

GOLDEN = Path(__file__).parent / "golden"
LATE = ("tests/codegen/gpu/test_best_blocks.py", "tests/tracecut/")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LongCases())
    config.pluginmanager.register(PlainRooms())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew instead of comparing with it"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of the tracer before those of the command line, which run all of it.

    A worker that has done its part takes over the last of another one's. What compiles for a minute is not there, or
    both would do it at the same time. Nor is what tries every order among the first: those of `partition`, which the
    other worker begins with, compile the same kernels.
    """
    items.sort(key=lambda item: item.nodeid.startswith(LATE))


def pytest_collection_finish() -> None:
    """What is imported and collected stays: the garbage collector need not look through it again and again."""
    gc.collect()
    collect_seldom()


def same_as_golden(path: Path, text: str, update: bool) -> None:
    """Compare a text with a golden file, or write the file: read the difference before it is committed."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    how = "If the new text is right, run the test once with --update-golden and commit the file."
    assert path.exists(), f"there is no {path}. {how}"
    before = path.read_text(encoding="utf-8")
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "golden", "made", lineterm="")
    assert text == before, f"{path} differs:\n" + "\n".join(lines) + f"\n{how}"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the file of that name under tests/golden."""
    update = bool(request.config.getoption("--update-golden"))
    return lambda name, text: same_as_golden(GOLDEN / name, text, update)


@pytest.fixture(scope="module", params=["plain", "compiled"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small inputs as they are taken by themselves, and by compiled kernels as if they were large."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(plain_kernels, "FEW", -1)
        yield


@pytest.fixture(scope="module", params=["python", pytest.param("compiled", marks=pytest.mark.long)])
def seldom_compiled() -> None:
    """Kernels of the rooms in `plain_rooms.py` as Python runs them, and in long tests compiled."""
