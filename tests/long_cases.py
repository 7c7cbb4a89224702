"""Cases that only `pytest -m long` runs: others of the same test, or a smaller program, go the same ways sooner.

Beside each: CPU seconds, all of its cases together. Tests that always run only there have the marker themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

# Test → its cases, by the ids that pytest gives them; "" is a test without any.
CASES: dict[str, tuple[str, ...]] = {
    "tests/codegen/cuda/test_on_host.py::test_the_text_leaves_what_the_kernel_leaves": ("rows-60",),  # 10
    "tests/codegen/gpu/test_index_copies.py::test_copies_are_the_executors": ("indirect",),  # 8
    "tests/codegen/kernels/test_kernels.py::test_every_variant_leaves_what_the_loop_left": (
        "rows-8",
        "indirect-8",
    ),  # 14
    "tests/codegen/kernels/test_ordered.py::test_sums_have_the_bits_of_the_program": (  # 10
        *("norm", "small", "product", "greater"),
    ),
    "tests/codegen/kernels/test_pack_copies.py::test_starts_have_16_bits": ("rows-1-81",),  # 12
    "tests/codegen/offload/test_host_and_card.py::test_the_program_prints_what_it_printed": (  # 21
        *("original-other loops are unrolled by hand", "original-arrays that are counted from one"),
        *("original-a part that is cleared of what the CPU made", "original-a copy of what the CPU made"),
        *("original-values at the border", "original-pointers to the ends of arrays"),
    ),
    "tests/codegen/offload/test_in_program.py::test_blocks_keep_data": ("readonly",),  # 3
    "tests/codegen/offload/test_own_indices.py::test_all_loops_run_there": ("original", "swap-indirect"),  # 8
    "tests/codegen/offload/test_spac.py::test_on_the_card_it_prints_what_it_prints": (  # 33
        *("particlefilter", "cg", "spmv_nonzeros"),
    ),
    "tests/codegen/products/test_on_card.py::test_kernels_become_machine_code_of_cards": ("dtype1", "dtype2"),  # 6
    "tests/fuzz/test_generator.py::test_compiles_without_a_warning": ("2",),  # 5
    "tests/fuzz/test_guards.py::test_changed_inputs": ("own",),  # 7
    "tests/fuzz/test_on_card.py::test_changed_inputs": ("own",),  # 7
    "tests/fuzz/test_on_card.py::test_thirty_loops": ("True",),  # 12
    "tests/fuzz/test_on_card.py::test_time_loops_that_run_as_often_as_data_say": ("True",),  # 8
    "tests/fuzz/test_planted.py::test_is_found": ("last_job_lost", "missed_alias", "new_numbers_as_data"),  # 21
    "tests/tracecut/api/test_emit.py::test_regular_nests_and_searches_have_kernels": ("search",),  # 10
    "tests/tracecut/cli/test_every_method.py::test_every_method": (  # 41, and kernels that are compiled for it
        *("degree-z", "expansion", "metis", "multilevel", "parcubed-det", "powergraph"),
    ),
    "tests/tracecut/cli/test_main.py::test_the_second_time_nothing_is_compiled_for_us": ("",),  # 28
    "tests/tracecut/pipeline/output/test_publishing.py::test_every_step_of_publishing": ("EPERM",),  # 7
    "tests/tracecut/pipeline/test_optional_parts.py::test_the_job_goes_on": (  # 22
        *("misses before", "misses after", "the charts", "the numbers of the charts", "the source lines"),
        *("the remarks", "the remarks as YAML", "a GPU kernel"),
    ),
    "tests/tracecut/test_bad_input.py::test_is_a_clear_error": (  # 9
        *("not C at all", "empty", "header is missing", "aborts", "overflows its stack"),
        "sleeps for ever and ignores signals",
    ),
    "tests/tracecut/test_bad_input.py::test_is_no_usable_ir": (  # 10
        *("ll-noise", "ll-flipped", "bc-empty", "bc-noise", "bc-truncated"),
    ),
    "tests/tracecut/test_exact.py::test_a_sum_over_data_in_a_new_order_is_told": ("DOT",),  # 7
    "tests/tracecut/test_exact.py::test_exact_keeps_the_order_of_such_a_sum": ("DOT",),  # 8
}


class LongCases:
    """A plugin: marks the cases, and refuses to go on where one is not there any more."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        test, _, case = item.nodeid.partition("[")
        if test in CASES:
            self._found.setdefault(test, set()).add(case.removesuffix("]"))
            if case.removesuffix("]") in CASES[test]:
                item.add_marker(pytest.mark.long)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        if any("::" in word for word in config.args):
            return  # a test by its name: others of its file are not collected
        files = {item.nodeid.partition("::")[0] for item in items}
        gone = [
            f"{test}[{case}]"
            for test, cases in CASES.items()
            for case in cases
            if test.partition("::")[0] in files and case not in self._found.get(test, ())
        ]
        if gone:
            raise pytest.UsageError(f"tests/long_cases.py names cases that are not there: {', '.join(gone)}")
