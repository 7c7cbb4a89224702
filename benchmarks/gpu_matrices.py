"""Transactions of SPMV on stand-ins for the eight matrices of SPAC's Table 4, in its blocks of 1,024 entries.

SPAC §5.2 says of its Fig. 13 that transactions fall for all matrices except cant and Ga41As41H72. Counted as there:
reads of the L2, fp32, here beside CSR with a warp a row. "Fewer" is by more than a tenth.
"""

from __future__ import annotations

from gpu_matrices_made import STAND_INS, Matrix, real
from gpu_spmv import SECTOR, Counts, block_counts, csr_counts
from rows import Row
from tracecut.codegen.gpu.best_blocks import BlockOrders

JOBS, SIZE, FEWER = 1024, 4, 0.9
EXCEPT = ("cant-like", "Ga41As41H72-like")
REAL = ("bcsstk32", "cnr-2000", "bayer10", "memplus")  # of the same kinds, as they are


def rows() -> list[Row]:
    """A row each; its bar is the side of `FEWER` on which the paper has the matrix."""
    found = []
    for name, make in STAND_INS.items():
        found.append(matrix_row(make(), "stand-in", few=name not in EXCEPT))
    for name in REAL:
        matrix = real(name)
        if matrix is not None:
            found.append(matrix_row(matrix, "as it is", few=None))
    return found


def matrix_row(matrix: Matrix, order: str, *, few: bool | None) -> Row:
    """L2 transactions of `smem` over those of CSR. `few`: whether the paper has fewer; None: it does not have it."""
    csr = csr_counts(matrix, SIZE)
    chosen = BlockOrders(matrix.graph(), "auto").best(JOBS)
    made = block_counts(matrix, chosen, JOBS, SIZE, by_rows=False)
    share = _sectors(made) / _sectors(csr)
    bar = {True: "bar ≤", False: "bar ≥", None: ""}[few]
    words = f"{matrix.of}; {matrix.n} rows, {matrix.rows.size} entries; {chosen.method}; "
    words += f"x sectors {csr.x_sectors / matrix.rows.size:.3f} -> {made.x_sectors / matrix.rows.size:.3f} an entry"
    return Row(matrix.name, order, "transactions, smem / CSR", share, bar, None if few is None else FEWER, note=words)


def _sectors(counts: Counts) -> float:
    return counts.l2_bytes / SECTOR
