"""Tile formats of TileSpMV on the GPU memory model: the order of merit of its Fig. 2 and 7, and its tuning (Fig. 5).

    python benchmarks/tile_formats.py --json FILE [--parts merit tuning blocks] [--only NAME …]

All is modelled, no card is asked. Cards: the C1060 with the 256 KiB behind its texture path that TileSpMV §3.1 found
(an L2 for x alone), and the H200. `merit`: bytes of the memory (C1060) or of the L2 (H200) for each entry, in fp32,
with the padding in the note; the number of tiles is searched for, as in the seed. Each format has the next worse one of
Fig. 2 as its peer, so that a ratio of at most 1 follows the seed. `tuning`: microseconds of what the table alone
chooses (`tuned`), and of the best of a few choices near it (`tried`), beside an exhaustive search; `predicted` beside
what the model then says; numbers of tiles. `blocks`: SPAC's blocks, packets and half-warp CSR beside CSR-vector, on
stand-ins for the matrices of SPAC's Table 4.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from gpu_matrices_made import STAND_INS, Matrix, of_entries
from rows import Row, print_rows, read_rows, write_rows
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.coo import Coo
from tracecut.codegen.sparse.formats.csr_vector import CsrVector
from tracecut.codegen.sparse.formats.ell import Hyb
from tracecut.codegen.sparse.formats.packets import Pkt
from tracecut.codegen.sparse.formats.spac_blocked import SpacBlocked
from tracecut.codegen.sparse.formats.tile_composite import TileComposite
from tracecut.codegen.sparse.formats.tile_coo import TileCoo
from tracecut.codegen.sparse.on_gpu.kernels import launches
from tracecut.codegen.sparse.on_gpu.lane_walks import Modelled, modelled
from tracecut.codegen.sparse.on_gpu.measure_shapes import known_table
from tracecut.codegen.sparse.on_gpu.tune_tiles import tile_width, try_tiles, tune_tiles
from tracecut.ir.gpu.description import Gpu, gpu
from tracecut.support.errors import UnsupportedError

SIZE = 4
WORKLOADS = [32 << power for power in range(8)]


def cards() -> dict[str, Gpu]:
    """The seed's card with its texture cache of two levels, and a card of today."""
    old = gpu("c1060")
    return {"C1060": replace(old, l2_size=256 << 10, l2_bandwidth=4 * old.hbm_bandwidth), "H200": gpu("h200")}


def power_law(name: str, n: int, entries: int, skew: float, of: str, near: float = 0.0) -> Matrix:
    """Ends drawn independently, the r-th most frequent in proportion to r^(1/skew − 1), numbered at random.

    near: the share of entries that lie beside the diagonal instead.
    """
    draw = np.random.default_rng(n)
    u, v = ((n * draw.random(entries) ** skew).astype(np.int64) for _ in range(2))
    names = draw.permutation(n)
    u, v = names[u], names[v]
    beside = np.clip(u + np.rint(draw.laplace(0, 20, entries)).astype(np.int64), 0, n - 1)
    return of_entries(name, n, u, np.where(draw.random(entries) < near, beside, v), of)


# Sizes of TileSpMV, Table 2, or the part of them that is said.
GRAPHS: dict[str, Callable[[], Matrix]] = {
    "Webbase-like": lambda: power_law("Webbase-like", 1_000_000, 3_100_000, 2.0, "Webbase, mostly near links", 0.6),
    "Flickr-like": lambda: power_law("Flickr-like", 850_000, 11_300_000, 2.5, "Flickr, half"),
    "LiveJournal-like": lambda: power_law("LiveJournal-like", 650_000, 9_600_000, 2.0, "LiveJournal, an eighth"),
    "Wikipedia-like": lambda: power_law("Wikipedia-like", 475_000, 10_000_000, 2.2, "Wikipedia, a quarter"),
    "Youtube-like": lambda: power_law("Youtube-like", 1_100_000, 4_900_000, 2.2, "Youtube"),
}


def dense(size: int = 2000) -> Matrix:
    """The dense matrix of Fig. 7."""
    cells = np.arange(size * size)
    return Matrix("dense 2000", size, cells // size, cells % size, "dense")


UNSTRUCTURED: dict[str, Callable[[], Matrix]] = {
    "dense 2000": dense,
    **{f"{name}-like": STAND_INS[f"{name}-like"] for name in ("cant", "scircuit")},
}
TUNED: dict[str, Callable[[], Matrix]] = {
    **{
        f"power law {n >> 10}K {entries // n} {skew}": (
            lambda n=n, entries=entries, skew=skew: power_law("", n, entries, skew, "power law")
        )
        for n, entries, skew in (
            *((1 << 17, 1 << 19, 2.0), (1 << 17, 1 << 19, 2.5), (1 << 17, 1 << 20, 2.5), (1 << 18, 1 << 20, 2.0)),
            *((1 << 17, 1 << 18, 2.2), (1 << 16, 1 << 18, 2.0), (1 << 16, 1 << 18, 2.5), (1 << 17, 1 << 19, 1.7)),
        )
    },
    **{name: STAND_INS[name] for name in ("scircuit-like", "mac_econ-like", "mc2depi-like")},
}


def csr_of(matrix: Matrix) -> Csr:
    """Ones, fp32."""
    ones = np.ones(matrix.rows.size, np.float32)
    return Csr(matrix.starts.astype(np.int32), matrix.columns.astype(np.int32), ones, (matrix.n, matrix.n))


def asked(made: Any, card: Gpu) -> Modelled:
    return modelled(launches(made, card), card, SIZE)


def merit_rows(name: str, matrix: Csr, of: str) -> list[Row]:
    """Formats in the order of the seed, the best last, with their bytes an entry."""
    found = []
    for label, card in cards().items():
        width = tile_width(card, SIZE)
        choice = try_tiles(matrix, card, tune_tiles(matrix, card, known_table(card, SIZE), width), 1)
        makers: dict[str, Callable[[], Any]] = {
            "COO": lambda: Coo.of(matrix),
            "HYB": lambda: Hyb.of(matrix),
            "tile-COO": lambda width=width, choice=choice: TileCoo.of(matrix, width, choice.tiles),
            "tile-composite": lambda width=width, choice=choice: TileComposite.of(
                matrix, width, workload=choice.workloads, most=choice.tiles
            ),
        }
        before, worse = None, ""
        for fmt, make in makers.items():
            made = make()
            said = asked(made, card)
            each = (said.hbm_bytes if label == "C1060" else said.l2_bytes) / matrix.entries
            note = f"{of}; padding {made.padding:.3f}, x {said.x_bytes / matrix.entries:.1f} B an entry, "
            note += f"{choice.tiles} tiles ({choice.seed_tiles} by Algorithm 1), {said.launches} kernels, "
            note += f"{1e6 * said.seconds:.0f} us, {1e-9 * made.bytes:.3g} GB"
            where = "memory" if label == "C1060" else "L2"
            found.append(Row(name, label, f"{fmt}: {where} B an entry, modelled", each, worse, before, note))
            before, worse = each, fmt
    return found


def block_rows(name: str, matrix: Csr, of: str) -> list[Row]:
    """SPAC's blocks and packets beside CSR-vector, bytes of the L2 for each entry on SPAC's card."""
    card = gpu("titan-x")
    csr = asked(CsrVector.of(matrix), card)
    makers: dict[str, Callable[[], Any]] = {
        "SPAC-blocked": lambda: SpacBlocked.of(matrix),
        "PKT": lambda: Pkt.of(matrix, shared=48 << 10),
        "half-warp CSR": lambda: CsrVector.half_warp(matrix),
    }
    found = []
    for fmt, make in makers.items():
        metric, peer = f"{fmt}: L2 B an entry, modelled", csr.l2_bytes / matrix.entries
        try:
            made = make()
        except UnsupportedError as error:
            found.append(Row(name, "Titan X", metric, None, "CSR-vector", peer, f"{of}; refused: {error.message}"))
            continue
        said = asked(made, card)
        note = f"{of}; padding {made.padding:.3f}, {1e6 * said.seconds:.0f} us, CSR-vector {1e6 * csr.seconds:.0f} us"
        found.append(Row(name, "Titan X", metric, said.l2_bytes / matrix.entries, "CSR-vector", peer, note))
    return found


def exhaustive(matrix: Csr, card: Gpu, width: int, most: int) -> list[float]:
    """Seconds of the best workloads for 0, 1, … tiles: of each tile apart, by the memory model."""
    found = []
    for tiles in range(most + 1):
        made = (TileComposite.of(matrix, width, workload=size, most=tiles) for size in WORKLOADS)
        times = [asked(each, card).each for each in made]
        found.append(float(np.min(times, axis=0).sum()))
    return found


def tuning_rows(name: str, matrix: Csr, of: str) -> list[Row]:
    """The choice by the table, and after a few trials, beside exhaustive search."""
    rows = []
    for label, card in cards().items():
        start = time.process_time()
        choice = tune_tiles(matrix, card, known_table(card, SIZE))
        spent = 1e9 * (time.process_time() - start) / matrix.entries
        made = TileComposite.of(matrix, choice.width, workload=choice.workloads, most=choice.tiles)
        tuned = asked(made, card).seconds
        tried = try_tiles(matrix, card, choice)
        again = TileComposite.of(matrix, tried.width, workload=tried.workloads, most=tried.tiles)
        settled = asked(again, card).seconds
        all_tiles = [*exhaustive(matrix, card, choice.width, choice.seed_tiles)]
        best = min(*all_tiles, tuned, settled)
        count = int(np.argmin(all_tiles))
        note = f"{of}; {matrix.shape[0]} rows, {matrix.entries} entries, workloads {list(choice.workloads)}"
        rows += [
            Row(name, label, "tuned: us, modelled", 1e6 * tuned, "exhaustive", 1e6 * best, note),
            Row(name, label, "tried: us, modelled", 1e6 * settled, "exhaustive", 1e6 * best),
            Row(name, label, "predicted: us", 1e6 * choice.seconds, "memory model", 1e6 * tuned),
            Row(name, label, "tiles", choice.tiles, "exhaustive", count, f"{choice.seed_tiles} by Algorithm 1"),
            Row(name, label, "tiles tried", tried.tiles, "exhaustive", count),
            Row(name, label, "tuning: ns an entry", spent),
        ]
    return rows


PARTS: dict[str, tuple[dict[str, Callable[[], Matrix]], Callable[[str, Csr, str], list[Row]]]] = {
    "merit": ({**GRAPHS, **UNSTRUCTURED}, merit_rows),
    "tuning": (TUNED, tuning_rows),
    "blocks": (STAND_INS, block_rows),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where the rows go")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="matrices (default: all)")
    options = parser.parse_args()
    found = read_rows(options.json)
    for part in options.parts:
        inputs, rows_of = PARTS[part]
        for name, make in inputs.items():
            if options.only and name not in options.only:
                continue
            matrix = make()
            rows = rows_of(name, csr_of(matrix), matrix.of)
            print_rows(rows)
            found |= {(row.input, row.order, row.metric): row for row in rows}
            write_rows(options.json, "tile_formats", list(found.values()), cards=[*cards()], value_bytes=SIZE)


if __name__ == "__main__":
    main()
