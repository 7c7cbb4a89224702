"""What SPAC's sentences and Table 5 say of its six applications, beside the modelled figures of `spac_applications.py`.

Nothing is read off a plot. A row's note begins with `agrees` or `disagrees`; its value is the modelled number, its peer
the published one where a sentence or table has one. SPAC ran on cards and inputs that are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rows import Row

INPUT, REMEDIES = "claims", "remedies"
INPUTS = (INPUT, REMEDIES)
RODINIA = ("cfd edges", "cfd elements", "b+tree points", "b+tree ranges", "gaussian", "particlefilter")
CFD, BTREE = RODINIA[:2], RODINIA[2:4]
SPARSE = ("spmv nonzeros", "spmv rows", "cg")
TITAN, GTX = "titan-x", "gtx680"
TABLE_5 = (256, 512, 1024)
LEAST = 1.02  # a gain: more than the model's own search takes for one
SAME = 0.1  # "similar": within a tenth


@dataclass(frozen=True)
class Figures:
    """Modelled microseconds and sectors by application, card, variant and threads."""

    time: dict[tuple[str, str, str, int], float]
    sectors: dict[tuple[str, str, str, int], float]
    blocks: dict[tuple[str, str, str, int], int]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Figures:
        """From the rows of a results file."""
        found = cls({}, {}, {})
        for row in rows:
            kind, _, rest = row.metric.partition(", ")
            if row.value is None or "@" not in rest:
                continue
            variant, _, threads = rest.partition("@")
            key = row.input, row.order, variant, int(threads)
            (found.time if kind == "us" else found.sectors)[key] = row.value
            if kind == "us":
                found.blocks[key] = int(row.note.split()[0])
        return found

    def threads(self, app: str) -> list[int]:
        return sorted({key[3] for key in self.time if key[0] == app and key[2] == "original"})

    def spac(self, app: str, card: str, threads: int) -> float:
        """The best of its variants."""
        return min(self.time[app, card, name, threads] for name in self.kept(app, card, threads))

    def kept(self, app: str, card: str, threads: int) -> list[str]:
        """The variants that stand for SPAC: its two caches, and the new order, whose reads take the read-only path."""
        names = ("tiles",) if app == "gaussian" else ("smem", "readonly", "swap")
        return [name for name in names if (app, card, name, threads) in self.time]

    def gain(self, app: str, card: str, threads: int) -> float:
        return self.time[app, card, "original", threads] / self.spac(app, card, threads)

    def best_gain(self, app: str, card: str) -> float:
        """The best of all block sizes over the best of all."""
        return self.least(app, card) / min(self.spac(app, card, each) for each in self.threads(app))

    def least(self, app: str, card: str, variant: str = "original") -> float:
        return min(self.time[app, card, variant, each] for each in self.threads(app))


def rows(found: Sequence[Row]) -> list[Row]:
    """A row for each claim whose figures are there, and how many agree."""
    figures = Figures.of(found)
    made = []
    for claim in CLAIMS:
        try:
            made += claim(figures)
        except (KeyError, ValueError):  # an application that was not run
            continue
    agree = sum(row.note.startswith("agrees") for row in made)
    total = [Row(INPUT, "", "agreements", agree, "of", len(made))] if made else []
    return [*made, *total, *beside_remedies(figures)]


def _row(card: str, text: str, value: float, agrees: bool, note: str, published: float | None = None) -> Row:
    peer = "SPAC" if published is not None else ""
    return Row(INPUT, card, text, value, peer, published, f"{'agrees' if agrees else 'disagrees'}: {note}")


def largest_speedup(figures: Figures) -> list[Row]:
    """§5.3: 2.40x at most, of particlefilter in blocks of 128."""
    gains = {(app, each): figures.gain(app, TITAN, each) for app in RODINIA for each in figures.threads(app)}
    app, threads = max(gains, key=lambda key: gains[key])
    agrees = app == "particlefilter" and threads == 128
    note = f"the model's is {app} in blocks of {threads}; particlefilter at 128: {gains['particlefilter', 128]:.2f}"
    return [_row(TITAN, "largest speedup: particlefilter at 128", gains[app, threads], agrees, note, 2.40)]


def gaussian_gains(figures: Figures) -> list[Row]:
    """§5.3: gaussian gains only in large blocks, most from 256 on, hardly at 64 and below."""
    gains = {each: figures.gain("gaussian", TITAN, each) for each in figures.threads("gaussian")}
    few = [each for each, gain in gains.items() if each < 256 and gain >= LEAST]
    many = [each for each, gain in gains.items() if each >= 256 and gain >= LEAST]
    best = max(gains, key=lambda key: gains[key])
    note = f"gains below 256: {few or 'none'}, from 256 on: {many or 'none'}, most at {best}"
    return [_row(TITAN, "gaussian gains from 256 on only", gains[best], not few and bool(many), note)]


def cfd_falls(figures: Figures) -> list[Row]:
    """§5.3: the original cfd falls from 384 to 512 threads, as two blocks of 384 fit and one of 512."""
    found = []
    for app in CFD:
        before, after = (figures.time[app, TITAN, "original", each] for each in (384, 512))
        blocks = [figures.blocks[app, TITAN, "original", each] for each in (384, 512)]
        note = f"{before:.1f} -> {after:.1f} us, {blocks[0]} -> {blocks[1]} resident blocks; SPAC has 2 -> 1"
        found.append(_row(TITAN, f"{app} falls from 384 to 512", after / before, after > LEAST * before, note))
    return found


def gains_everywhere(figures: Figures) -> list[Row]:
    """§5.3: all but gaussian gain at every block size."""
    found = []
    for app in RODINIA:
        if app == "gaussian":
            continue
        gains = {each: figures.gain(app, TITAN, each) for each in figures.threads(app)}
        not_at = [each for each, gain in gains.items() if gain < LEAST]
        text = f"{app} gains at every block size"
        note = f"no gain at {not_at}" if not_at else "least of all sizes"
        found.append(_row(TITAN, text, min(gains.values()), not not_at, note))
    return found


def never_slower(figures: Figures) -> list[Row]:
    """§5.3, Fig. 15: the best of SPAC is nowhere slower than the best of the original."""
    return [
        _row(card, f"{app}: best of SPAC is no slower", gain, gain >= 0.995, f"{gain:.2f}x of the best original")
        for app in RODINIA
        for card in (TITAN, GTX)
        for gain in [figures.best_gain(app, card)]
    ]


def between_cards(figures: Figures) -> list[Row]:
    """§5.3: b+tree gains alike on both cards; particlefilter more on the Titan X; cfd and gaussian on the GTX 680."""
    found = []
    for app in RODINIA:
        titan, gtx = figures.best_gain(app, TITAN), figures.best_gain(app, GTX)
        if app in BTREE:
            text, agrees = "gains alike on both cards", abs(titan / gtx - 1) <= SAME
        elif app == "particlefilter":
            text, agrees = "gains more on Titan X", titan > gtx * LEAST
        else:
            text, agrees = "gains more on GTX 680", gtx > titan * LEAST
        found.append(_row("both", f"{app} {text}", titan / gtx, agrees, f"Titan X {titan:.2f}x, GTX 680 {gtx:.2f}x"))
    return found


def gaussian_best_block(figures: Figures) -> list[Row]:
    """§5.3: the original gaussian is fastest in blocks of 8 × 8 on the Titan X."""
    times = {each: figures.time["gaussian", TITAN, "original", each] for each in figures.threads("gaussian")}
    best = min(times, key=lambda key: times[key])
    text, note = "gaussian: original is best at 64", f"best at {best}, {times[best]:.2f} us; 64: {times[64]:.2f} us"
    return [_row(TITAN, text, best, best == 64, note, 64)]


def fewer_transactions(figures: Figures) -> list[Row]:
    """§5.3, Fig. 16: read transactions fall, in blocks of the same size; here all sectors of the L2, at 256 threads."""
    found = []
    for app in RODINIA:
        before = figures.sectors[app, TITAN, "original", 256]
        after = min(figures.sectors[app, TITAN, name, 256] for name in figures.kept(app, TITAN, 256))
        text = f"{app}: fewer transactions at 256"
        found.append(_row(TITAN, text, after / before, after < 0.9 * before, f"{after / before:.2f} of the original's"))
    return found


def sparse_gains(figures: Figures) -> list[Row]:
    """§5.2: SPAC in blocks of 1,024 is faster in most cases on both cards; here beside our own plain kernels."""
    return [
        _row(card, f"{app} gains at 1024", gain, gain >= LEAST, f"{gain:.2f}x of the original")
        for app in SPARSE
        for card in (TITAN, GTX)
        for gain in [figures.gain(app, card, 1024)]
    ]


def block_sizes_alike(figures: Figures) -> list[Row]:
    """Table 5: times in blocks of 256, 512 and 1,024 are similar."""
    found = []
    for app in SPARSE:
        times = [figures.time[app, TITAN, "smem", each] for each in TABLE_5]
        spread = max(times) / min(times)
        note = "slowest over fastest of 256, 512, 1024; Table 5 has 1.01 to 1.06"
        found.append(_row(TITAN, f"{app}: block sizes are alike", spread, spread <= 1 + SAME, note, 1.06))
    return found


def both_caches_alike(figures: Figures) -> list[Row]:
    """Table 5: smem is ahead of tex by a small percentage, 8 at most."""
    found = []
    for app in SPARSE:
        tex = "readonly" if (app, TITAN, "readonly", 1024) in figures.time else "swap"  # what is read takes that path
        shares = [figures.time[app, TITAN, tex, each] / figures.time[app, TITAN, "smem", each] for each in TABLE_5]
        share = max(shares, key=lambda each: abs(each - 1))
        agrees = all(1 <= each <= 1 + SAME for each in shares)
        note = f"{tex} / smem at 256, 512, 1024: {', '.join(f'{each:.2f}' for each in shares)}"
        found.append(_row(TITAN, f"{app}: smem a little ahead of tex", share, agrees, note))
    return found


def beside_remedies(figures: Figures) -> list[Row]:
    """Not of the paper: the best of SPAC beside the best of the simple remedy, on each card."""
    return [
        Row(REMEDIES, card, f"{app}: us, best of SPAC", spac, "best of the remedy", fixed)
        for app in (*RODINIA, *SPARSE)
        for card in (TITAN, GTX, "h200")
        if (app, card, "fixed", 1024) in figures.time
        for spac in [min(figures.spac(app, card, each) for each in figures.threads(app))]
        for fixed in [figures.least(app, card, "fixed")]
    ]


CLAIMS: tuple[Callable[[Figures], list[Row]], ...] = (
    largest_speedup,
    gaussian_gains,
    cfd_falls,
    gains_everywhere,
    never_slower,
    between_cards,
    gaussian_best_block,
    fewer_transactions,
    sparse_gains,
    block_sizes_alike,
    both_caches_alike,
)
