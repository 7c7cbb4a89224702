"""All tolerances for results of reordered floating-point sums.

The README states these numbers, and `manifest.json` reports for each region which of them were applied.
"""

from __future__ import annotations

# Of numbers in memory, by LLVM's name of the type: largest difference / largest value of an array, each sweep.
RESULTS = {"double": 1e-12, "float": 1e-5}
# A difference up to this factor larger is refused, but not reported as a wrong plan: it occurs in sums that nearly
# cancel.
CANCELLING = 1e4
# Of numbers with a point or an exponent that a whole program writes: relative; or one unit of the last digit.
OUTPUT = 1e-7
# Of such a number: the difference / the largest one that is printed behind the same word. As in memory: rounding.
SERIES = 1e-12
