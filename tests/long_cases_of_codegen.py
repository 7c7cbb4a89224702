"""Cases of tests of `codegen` that only `pytest -m long` runs: see `long_cases.py`."""

from __future__ import annotations

# Test → its cases, as in `long_cases.CASES`.
CODEGEN: dict[str, tuple[str, ...]] = {
    "tests/codegen/cuda/test_on_host.py::test_the_text_leaves_what_the_kernel_leaves": ("rows-60",),  # 10
    "tests/codegen/kernels/test_kernels.py::test_an_array_is_reached_by_number_and_by_an_index": ("readonly",),  # 2
    "tests/codegen/kernels/test_kernels.py::test_every_variant_leaves_what_the_loop_left": (
        "rows-8",
        "indirect-8",
    ),  # 14
    "tests/codegen/kernels/test_kernels.py::test_local_numbers_are_numbers_of_the_space": ("True",),  # 2
    "tests/codegen/kernels/test_ordered.py::test_the_shipped_text_leaves_these_bits": ("edges", "norm"),  # 3
    "tests/codegen/offload/test_host_and_card.py::test_other_data_let_the_scope_touch_more": (  # 10
        *("a loop that never ran", "a branch that was never taken"),
    ),
    "tests/codegen/offload/test_host_layout.py::test_copies_and_objects": (  # 20
        "indirect",
        "odd",
        *("rows", "pieces"),
    ),
    "tests/codegen/offload/test_in_program.py::test_a_card_without_room_leaves_the_program_to_the_cpu": ("2", "9"),  # 5
    "tests/codegen/offload/test_own_indices.py::test_all_loops_run_there": ("original", "swap-indirect"),  # 8
    "tests/codegen/offload/test_spac.py::test_on_the_card_it_prints_what_it_prints": (  # 38
        *("particlefilter", "cg", "spmv_nonzeros"),
        "btree",
    ),
    "tests/codegen/offload/test_step_scope.py::test_what_is_independent_in_every_step_is_taken": ("sums",),  # 5
    "tests/codegen/products/test_on_card.py::test_kernels_become_machine_code_of_cards": (  # 9
        "dtype1",
        "dtype2",
        "dtype0",
    ),
    "tests/codegen/ranks/test_mpi.py::test_all_splits_and_algorithms": (  # 44: tests/tracecut/cli/test_ranks.py has MPI
        "2",
    ),
    "tests/codegen/runtime/test_coming_schedule.py::test_a_child_that_goes_on_is_left_alone": ("light",),  # 7
    "tests/codegen/runtime/test_coming_schedule.py::test_children_of_the_program_are_its_own": ("full",),  # 7
    "tests/codegen/runtime/test_coming_schedule.py::test_input_that_changes_while_it_is_made_is_met_by_the_guard": (
        "light",  # 4
    ),
    "tests/codegen/runtime/test_coming_schedule.py::test_it_comes_into_force_between_any_two_sweeps": (  # 12
        *("light-1", "light-38", "full-2", "full-7"),
        *("light-2", "full-38"),
    ),
    "tests/codegen/runtime/test_coming_schedule.py::test_the_program_does_not_wait_for_it": ("full",),  # 5
    "tests/codegen/runtime/test_coming_schedule.py::test_what_fails_beside_the_program_is_told": ("light",),  # 4
    "tests/codegen/runtime/test_reinspect.py::test_code_that_compares_new_numbers_is_for_numbers_on_one_side": (
        "90-",  # 6
    ),
    "tests/codegen/runtime/test_settled_inspections.py::test_a_refusal_settles_for_good": (  # 10
        *("light-other", "full-fewer", "light-rewritten"),
        "full-other",
    ),
    "tests/codegen/runtime/test_settled_inspections.py::test_what_the_guard_refuses_is_not_made_again": (  # 7
        *("light-fewer", "full-rewritten"),
        "full-fewer",
    ),
    "tests/codegen/runtime/test_settled_inspections.py::test_what_the_guard_takes_stays": ("full",),  # 2
    "tests/codegen/test_look_ahead.py::test_the_program_ends_where_it_ends": ("2",),  # 5
}
