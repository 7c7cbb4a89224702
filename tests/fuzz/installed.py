"""Imported first by `python -m tests.fuzz`: the package that is installed comes before the folder of its name here.

Python puts the current folder in front of all others. In the root of the repository the folder `tracecut` holds a part
of the package only.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.path and Path(sys.path[0] or ".").resolve() == Path(__file__).parents[2]:
    sys.path.append(sys.path.pop(0))
