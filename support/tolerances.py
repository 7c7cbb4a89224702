"""All tolerances for results of reordered floating-point sums.

The README states these numbers, and `manifest.json` reports for each region which of them were applied.
"""

from __future__ import annotations

# Of numbers in memory, by LLVM's name of the type: largest difference / largest value of an array, each sweep.
RESULTS = {"double": 1e-12, "float": 1e-5}
# Of a number that a loop sums up over all its iterations, under `SUM` and its type: rounding can change it by so much
# for each addend, whatever the order; never more than leaving out one of a few million would.
SUM, ADDEND, LONG = "sum of ", 2.0**-53, 1e-9
# A difference up to this factor larger is refused, but not reported as a wrong plan: it occurs in sums that nearly
# cancel.
CANCELLING = 1e4
# Of numbers with a point or an exponent that a whole program writes: relative; or one unit of the last digit.
OUTPUT = 1e-7
# Of such a number: the difference / the largest one that is printed behind the same word. As in memory: rounding.
SERIES = 1e-12


def of_sum(type: str, addends: int) -> float:
    """Largest difference / value of a sum over so many iterations. A `float` is as in memory."""
    return max(RESULTS[type], min(addends * ADDEND, LONG)) if type == "double" else RESULTS[type]
