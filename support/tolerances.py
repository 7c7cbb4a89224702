"""How far results of reordered floating-point sums may be from the original's: all that is enforced, in one place.

The README states these numbers, `manifest.json` reports for each region those that were used on it.
"""

from __future__ import annotations

# Of numbers in memory, by LLVM's name of the type: largest difference / largest value of an array, each sweep.
RESULTS = {"double": 1e-12, "float": 1e-5}
# A difference up to so many times as large is refused too, but is no sign of a wrong plan: sums that nearly cancel.
CANCELLING = 1e4
# Of numbers with a point or an exponent that a whole program writes: relative; or one unit of the last digit.
OUTPUT = 1e-7
