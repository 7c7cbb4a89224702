"""Pages of permuted arrays move to their threads' memory nodes, on a machine of two nodes that the test plays."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tracecut.tracer import runtime
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.toolchain.find_compilers import compiler, environment

PAGES = 1300  # more than two batches
# Thread t runs on node t % nodes; what move_pages is asked for is done in the table that the test reads.
MACHINE = """
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#define MAX_THREADS 64
typedef struct { int unused; } Pool;
int32_t nodes = 2, current, refused = -1, calls;
uintptr_t first;
int32_t table[4096];
static void run_on(Pool *pool, int32_t threads, void (*part)(int32_t, void *), void *data) {
    (void)pool;
    for (current = 0; current < threads; current++) part(current, data);
}
static long machine(long number, ...) {
    va_list given;
    va_start(given, number);
    long done = 0;
    if (number == SYS_getcpu) {
        (void)va_arg(given, unsigned *);
        *va_arg(given, unsigned *) = (unsigned)(current % nodes);
    } else {
        (void)va_arg(given, int);
        unsigned long count = va_arg(given, unsigned long);
        void **list = va_arg(given, void **);
        int *target = va_arg(given, int *), *status = va_arg(given, int *);
        calls++;
        for (unsigned long i = 0; i < count; i++) {
            int32_t *node = &table[((uintptr_t)list[i] - first) / (uintptr_t)sysconf(_SC_PAGESIZE)];
            if (target && target[i] == refused) { status[i] = -ENOMEM; continue; }
            if (target && *node >= 0) *node = target[i];
            status[i] = *node;
        }
    }
    va_end(given);
    return done;
}
#define SYSTEM_CALL machine
#include "pages.c"
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "machine.c").write_text(MACHINE)
    words = [*compiler().command, "-shared", "-fPIC", "-O1", f"-I{Path(runtime.__file__).parent / 'native'}"]
    subprocess.run([*words, "machine.c", "-o", "machine.so"], cwd=folder, env=environment(), check=True)
    library = ctypes.CDLL(str(folder / "machine.so"))
    library.tc_move_pages.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32]
    library.tc_move_pages.restype = ctypes.c_int64
    return library


def _moved(
    machine: ctypes.CDLL, threads: int, before: int = 0, nodes: int = 2, refused: int = -1
) -> tuple[int, list[int]]:
    """How many pages were moved, and the node of each page of the array."""
    ctypes.c_int32.in_dll(machine, "nodes").value = nodes
    ctypes.c_int32.in_dll(machine, "refused").value = refused
    ctypes.c_int32.in_dll(machine, "calls").value = 0
    size, start = mmap.PAGESIZE, 16384 * mmap.PAGESIZE
    ctypes.c_size_t.in_dll(machine, "first").value = start
    table = (ctypes.c_int32 * 4096).in_dll(machine, "table")
    table[:] = [before] * 4096
    # from the middle of the first page to the middle of the last one
    moved = machine.tc_move_pages(None, start + size // 2, (PAGES - 1) * size, threads)
    assert list(table[PAGES:]) == [before] * (4096 - PAGES), "another array's pages were moved"
    return moved, list(table[:PAGES])


@pytest.mark.parametrize("threads", [2, 3, 64])
def test_each_share_goes_to_its_thread(machine: ctypes.CDLL, threads: int) -> None:
    moved, table = _moved(machine, threads)
    expected = [0] * PAGES
    for thread in range(threads):
        for place in range(PAGES * thread // threads, PAGES * (thread + 1) // threads):
            expected[place] = thread % 2
    assert table == expected and moved == sum(expected)
    assert _moved(machine, threads, before=1)[1] == expected


@pytest.mark.parametrize(("threads", "nodes"), [(1, 2), (4, 1), (65, 2)])
def test_nobody_asks_where_there_is_nothing_to_choose(machine: ctypes.CDLL, threads: int, nodes: int) -> None:
    moved, table = _moved(machine, threads, nodes=nodes)
    assert moved == 0 and not any(table)
    assert ctypes.c_int32.in_dll(machine, "calls").value == 0


def test_what_was_never_written_or_cannot_move_stays(machine: ctypes.CDLL) -> None:
    absent, full = -2, 1
    assert _moved(machine, 2, before=absent) == (0, [absent] * PAGES)
    assert _moved(machine, 2, refused=full) == (0, [0] * PAGES)


def test_the_machine_itself_answers() -> None:
    """Whatever its nodes are: values stay."""
    array = np.arange(1 << 20)
    moved = support().move_pages(array.ctypes.data, array.nbytes, threads=2)
    assert 0 <= moved <= array.nbytes // mmap.PAGESIZE + 1
    np.testing.assert_array_equal(array, np.arange(1 << 20))
