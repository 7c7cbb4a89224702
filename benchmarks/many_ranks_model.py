"""The web graphs of TileSpMV's Table 3 on several ranks: bytes of a product, and parallel efficiency, both modelled.

The graphs are not at hand. What `allgather` sends follows from the number of nodes alone. What is needed is a share of
that, taken from stand-ins: a small crawl by the same crawler, where the data folder has it, and an R-MAT graph. Speed
of a card and rate of the network follow from what the paper says of sk-2005 on ten cards (23 GFLOPS, 70 %); with them
the efficiency that it reports of other graphs is predicted. Values are of 4 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import DATA
from mining import rmat
from rows import Row
from tracecut.codegen.ranks.simple_splits import bitonic, columns, grid
from tracecut.codegen.ranks.split import Entries
from tracecut.codegen.ranks.traffic import traffic_of

import tracecut

TABLE_3 = {  # nodes, links
    "it-2004": (41_291_594, 1_150_725_436),
    "sk-2005": (50_636_154, 1_949_412_601),
    "uk-union": (133_633_040, 5_507_679_822),
    "web-2001": (118_142_155, 1_019_903_190),
}
CARDS = (2, 4, 6, 10)
VALUE = 4
REPORTED = {  # §4.3: efficiency on some cards
    ("it-2004", 4): 0.8, ("it-2004", 6): 0.6, ("web-2001", 4): 0.8, ("web-2001", 6): 0.6, ("sk-2005", 10): 0.7
}  # fmt: skip
SPEED, EFFICIENCY, OF = 23e9, 0.7, ("sk-2005", 10)


def modelled_rows() -> Iterator[Row]:
    shares = {name: needed_shares(matrix) for name, matrix in stand_ins().items()}
    for name, found in shares.items():
        for cards, splits in found.items():
            for split, share in splits.items():
                yield Row(name, split, f"needed {cards}r: of allgather by rows", share)
    nearest = list(shares)[-1]
    rate, speed = fitted()
    yield Row("sk-2005 (modelled)", "bitonic", "network of 10 cards: GB/s", rate / 1e9, note="implied by §4.3")
    for name, (nodes, links) in TABLE_3.items():
        for cards in CARDS:
            every = nodes * (cards - 1) * VALUE
            label = f"{name} (modelled)"
            yield Row(label, "bitonic", f"allgather {cards}r: bytes", every, note="exact: all nodes to all others")
            for split, share in shares[nearest][cards].items():
                note = f"the share that {nearest} needs"
                yield Row(label, split, f"needed {cards}r: bytes", share * every, "allgather by rows", every, note)
            wait = nodes * (cards - 1) / cards * VALUE / rate
            alone = 2 * links / speed
            reported = REPORTED.get((name, cards))
            metric, note = f"allgather {cards}r: efficiency", "fitted to it" if (name, cards) == OF else ""
            value = alone / cards / (alone / cards + wait)
            yield Row(label, "bitonic", metric, value, "" if reported is None else "§4.3", reported, note)


def fitted() -> tuple[float, float]:
    """Bytes a second that a rank receives, and operations a second of one card."""
    name, cards = OF
    nodes, links = TABLE_3[name]
    speed = SPEED / cards / EFFICIENCY
    wait = 2 * links / SPEED - 2 * links / (cards * speed)
    return nodes * (cards - 1) / cards * VALUE / wait, speed


def stand_ins() -> dict[str, Any]:
    found = {"R-MAT 16": rmat(16)}
    path = DATA / "cnr-2000.mtx.gz"
    if path.exists():
        found["cnr-2000"] = tracecut.read_matrix(path)
    return found


def needed_shares(matrix: Any) -> dict[int, dict[str, float]]:
    """For each number of ranks, what splits exchange of n · (ranks − 1) entries."""
    turned = matrix.T.tocsr()  # rows hold the links into a node
    entries = Entries(turned.indptr.astype(np.uint32), turned.indices.astype(np.uint32), np.zeros(0))
    found: dict[int, dict[str, float]] = {}
    for cards in CARDS:
        found[cards] = {}
        for split in (bitonic, columns, grid):
            traffic = traffic_of(entries, split(entries, cards), "needed")
            sent = int(traffic.expand.sum() + traffic.fold.sum())
            found[cards][split.__name__] = sent / (entries.size * (cards - 1))
    return found
