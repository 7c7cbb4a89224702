"""Every planted fault is found, with both lines; a clean kernel raises no alarm."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.codegen.emulation.run_kernel import RunReport, run_kernel

from .planted import BLOCK, BLOCKS, FILE, SMEM, SMEM_FAULTS, Case, numbered, smem_data

ORDER = "n v col row xfrom xids x yfrom yids owned y out".split()


def smem(case: Case | None = None, **how: object) -> tuple[RunReport, dict[str, object]]:
    text, data = SMEM, smem_data()
    if case is not None:
        for old, new in case.edits.items():
            assert text.count(old) == 1, (case.name, old)
            text = text.replace(old, new)
        case.data(data)
    text, sites = numbered(text)
    arguments = [data[name] for name in ORDER]
    return run_kernel(text, "k", arguments, BLOCKS, BLOCK, data["shared"], sites=sites, **how), data


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_the_clean_kernel_raises_no_alarm(seed: int) -> None:
    report, data = smem(mode="strict", races=True, seed=seed)
    assert report.faults == () and report.completed
    assert np.allclose(data["y"], data["expected"], rtol=1e-13)


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("case", SMEM_FAULTS, ids=lambda case: case.name)
def test_planted_faults_are_found(case: Case, seed: int) -> None:
    report, _ = smem(case, mode="strict", races=True, seed=seed)
    wanted = sorted(f"{FILE}:{line}" for line in case.lines)
    found = [(fault.kind, sorted(place.where for place in fault.places)) for fault in report.faults]
    assert (case.kind, wanted) in found, found
    fault = report.faults[found.index((case.kind, wanted))]
    assert fault.kernel == "k" and all(
        0 <= place.block < BLOCKS and 0 <= place.thread < BLOCK for place in fault.places
    )
    assert str(fault).startswith(f"{case.kind} in k") and all(where in str(fault) for where in wanted)
