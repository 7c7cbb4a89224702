"""Kernels whose loop runs over pieces that follow each other: one loop over the pieces around one over each.

An array holds where the pieces end, or it is computed: of tiles of one size, or of shares.
"""

from __future__ import annotations

import random
from dataclasses import replace

from .generate import generate, suite_of
from .model import Array, Kernel, Scalar, Suite

MOST_PIECES = 6


def pieces_suite(seed: int, count: int = 100) -> Suite:
    """The kernels of `generate` that count up by one, in pieces."""
    draw = random.Random(f"{seed}/pieces")
    return suite_of([in_pieces(kernel, draw) for kernel in generate(seed, count).kernels if can_be_cut(kernel)], seed)


def tiles_suite(seed: int, count: int = 100) -> Suite:
    """The kernels of `generate` that count up by one, in tiles."""
    draw = random.Random(f"{seed}/tiles")
    return suite_of([in_tiles(kernel, draw) for kernel in generate(seed, count).kernels if can_be_cut(kernel)], seed)


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


def in_tiles(kernel: Kernel, draw: random.Random) -> Kernel:
    """The same iterations in the same order, in tiles of one size or in shares, the last of which may be smaller."""
    many, type = kernel.n_jobs, draw.choice(["int", "int", "long", "unsigned"])
    prefix = next((array.prefix for array in kernel.arrays if array.prefix), "")
    n, shares = Scalar("all_", type, many), Scalar("shares_", type, draw.randint(1, 9))
    size = draw.choice((2, 3, 4, 8, 1000))
    cut = f"({prefix}all_ < {{0}} ? {prefix}all_ : {{0}})"
    last, share = f"{prefix}all_", f"{prefix}all_ * {{}} / {prefix}shares_"
    around, first, end = draw.choice(
        [
            (f"c_ < ({last} + {size - 1}) / {size}; c_++", f"{size} * c_", cut.format(f"{size} * (c_ + 1)")),
            (f"c_ < {last}; c_ += {size}", "c_", cut.format(f"(c_ + {size})")),
            (f"c_ < {prefix}shares_; c_++", share.format("c_"), share.format("(c_ + 1)")),
            (f"c_ * {size} < {last}; c_++", f"{size} * c_", cut.format(f"(c_ * {size} + {size})")),
        ]
    )
    head = f"for ({type} i = {first}; i < {end}; i++) {{"
    cursor = replace(kernel.loop.cursors[0], type=type)
    loop = replace(kernel.loop, before=(f"for ({type} c_ = 0; {around})",), head=(head,), cursors=(cursor,))
    return replace(kernel, scalars=(*kernel.scalars, n, shares), loop=loop)
