"""Kernels whose loop runs over pieces that follow each other: one loop over the pieces around one over each."""

from __future__ import annotations

import random
from dataclasses import replace

from .generate import generate, suite_of
from .model import Array, Kernel, Suite

MOST_PIECES = 6


def pieces_suite(seed: int, count: int = 100) -> Suite:
    """The kernels of `generate` that count up by one, in pieces."""
    draw = random.Random(f"{seed}/pieces")
    return suite_of([in_pieces(kernel, draw) for kernel in generate(seed, count).kernels if can_be_cut(kernel)], seed)


def can_be_cut(kernel: Kernel) -> bool:
    """Whether a loop is `for (int i = 0; …; i++)`, always of the same length."""
    loop = kernel.loop
    plain = len(loop.head) == 1 and loop.head[0].startswith("for (int i = 0;") and not loop.before and not loop.test
    return plain and len(loop.cursors) == 1 and not {"count-changes", "early-exit"} & {*kernel.features}


def in_pieces(kernel: Kernel, draw: random.Random) -> Kernel:
    """The same iterations in the same order, cut at random; some pieces are empty."""
    cuts = sorted(draw.randint(0, kernel.n_jobs) for _ in range(draw.randint(0, MOST_PIECES - 1)))
    ends = (0, *cuts, kernel.n_jobs)
    prefix = next((array.prefix for array in kernel.arrays if array.prefix), "")
    type = draw.choice(["int", "int", "long"])
    piece = Array("piece", type, len(ends), fill=ends, prefix=prefix)
    head = f"for ({type} i = {piece.at('c_')}; i < {piece.at('c_ + 1')}; i++) {{"
    loop = replace(
        kernel.loop,
        before=(f"for (int c_ = 0; c_ < {len(ends) - 1}; c_++)",),
        head=(head,),
        cursors=(replace(kernel.loop.cursors[0], type=type),),
    )
    return replace(kernel, arrays=(*kernel.arrays, piece), loop=loop)
