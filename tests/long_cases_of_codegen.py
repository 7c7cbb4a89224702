"""Cases of tests of `codegen` that only `pytest -m long` runs: see `long_cases.py`."""

from __future__ import annotations

# Test → its cases, as in `long_cases.CASES`.
CODEGEN: dict[str, tuple[str, ...]] = {
    "tests/codegen/cuda/test_on_host.py::test_the_text_leaves_what_the_kernel_leaves": ("rows-60",),  # 10
    "tests/codegen/gpu/test_index_copies.py::test_copies_are_the_executors": (  # 23
        "indirect",
        "pairs",
        "pieces",
    ),
    "tests/codegen/kernels/test_kernels.py::test_an_array_is_reached_by_number_and_by_an_index": ("readonly",),  # 2
    "tests/codegen/kernels/test_kernels.py::test_every_variant_leaves_what_the_loop_left": (
        "rows-8",
        "indirect-8",
    ),  # 14
    "tests/codegen/kernels/test_kernels.py::test_local_numbers_are_numbers_of_the_space": ("True",),  # 2
    "tests/codegen/kernels/test_ordered.py::test_sums_have_the_bits_of_the_program": (  # 14
        *("norm", "small", "product", "greater", "least"),
        "edges",
    ),
    "tests/codegen/kernels/test_ordered.py::test_the_shipped_text_leaves_these_bits": ("edges", "norm"),  # 3
    "tests/codegen/kernels/test_pack_copies.py::test_starts_have_16_bits": ("rows-1-81",),  # 12
    "tests/codegen/kernels/test_tune_on_card.py::test_damaged_memories_are_measured_anew": (  # 6
        *("[1.0]", "[1.0, -2.0]", '["a", 1.0]', "[1.0, 2.0"),
    ),
    "tests/codegen/mining/test_on_disk.py::test_cg": ("True-40",),  # 2
    "tests/codegen/mining/test_on_disk.py::test_hits": ("weighted-40",),  # 2
    "tests/codegen/mining/test_on_disk.py::test_pagerank_has_the_same_bits": ("weighted-40",),  # 5
    "tests/codegen/mining/test_on_disk.py::test_rwr": ("weighted-40", "plain-40"),  # 7
    "tests/codegen/mining/test_on_ranks.py::test_scores_are_those_of_one_rank": ("km1-needed", "spac-needed"),  # 13
    "tests/codegen/offload/test_host_and_card.py::test_other_data_let_the_scope_touch_more": (  # 10
        *("a loop that never ran", "a branch that was never taken"),
    ),
    "tests/codegen/offload/test_host_and_card.py::test_the_program_prints_what_it_printed": (  # 34
        *("original-other loops are unrolled by hand", "original-arrays that are counted from one"),
        *("original-a part that is cleared of what the CPU made", "original-a copy of what the CPU made"),
        *("original-values at the border", "original-pointers to the ends of arrays"),
        *("swap-arrays that are counted from one", "swap-a part that is cleared of what the CPU made"),
        *("swap-a copy of what the CPU made", "swap-pointers to the ends of arrays"),
    ),
    "tests/codegen/offload/test_host_layout.py::test_copies_and_objects": (  # 20
        "indirect",
        "odd",
        *("rows", "pieces"),
    ),
    "tests/codegen/offload/test_in_program.py::test_a_card_without_room_leaves_the_program_to_the_cpu": ("2", "9"),  # 5
    "tests/codegen/offload/test_in_program.py::test_blocks_keep_data": ("readonly",),  # 3
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
    "tests/codegen/ptx/test_golden_ptx.py::test_ptxas_accepts_every_architecture": ("sm_103", "sm_86", "sm_89"),  # 2
    "tests/codegen/ptx/test_reductions.py::test_memory_operators": ("unsigned", "ulong", "uchar", "double"),  # 4
    "tests/codegen/ptx/test_reductions.py::test_register_reduction": (  # 5
        *("product", "isum", "steepest", "lowest", "most", "imul", "shortest"),
    ),
    "tests/codegen/ptx/test_semantics.py::test_kernel_computes_what_the_host_does": (  # 9
        *(f"swap-{name}" for name in ("backwards", "conditional", "extremes", "index_as_data", "records", "scratch")),
        *(f"swap-indirect-{name}" for name in ("chosen", "copies", "histogram", "mesh", "scaled", "spmv", "walk")),
        "swap-strided",
    ),
    "tests/codegen/ptx_interpreter/test_golden_agreement.py::test_golden_kernels": (  # 6
        *(f"{name}-64" for name in ("edges-swap-indirect", "rows-swap", "norm-swap", "waves-swap", "edges-swap")),
        "rows-swap-7",
    ),
    "tests/codegen/ranks/test_products.py::test_products": ("spac-allgather", "km1-needed"),  # 4
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
    "tests/codegen/runtime/test_saved_schedule.py::test_a_layout_that_too_few_sweeps_pay_for_is_not_used": (  # 10
        *("30-1", "1-0"),
    ),
    "tests/codegen/runtime/test_saved_schedule.py::test_pointers_that_lie_in_structures_are_followed": (  # 10
        *("same-1-0", "behind-0-32768"),
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
    "tests/codegen/runtime/test_shared_mappings.py::test_where_arrays_lie": (  # 30: each place has another way left
        *(f"listed-{place}" for place in ("last page", "file", "elsewhere", "child", "read only", "gone", "own")),
        *(
            f"asked-{place}"
            for place in ("anonymous", "index", "twice", "segment", "private file", "protected", "ring")
        ),
        "asked-private",
    ),
    "tests/codegen/runtime/test_surroundings.py::test_two_hundred_cases": (  # 21
        *("1 thread-same-oddly", "1 thread-other-oddly", "2 threads-same-plainly", "2 threads-other-plainly"),
        "2 threads-same-oddly",
    ),
    "tests/codegen/schedule/guards/test_guards.py::test_other_input": (  # 20: tests/fuzz/test_guards.py has more of all
        *("last-index", "flag", "shorter", "gate-value", "column", "scale", "one-index-array"),
        *("shifted-index", "interior", "stride"),
    ),
    "tests/codegen/schedule/guards/test_guards.py::test_other_input_inspected_anew": (  # 8
        "index",
        "stride",
        *("flag", "last-index"),
    ),
    "tests/codegen/test_equivalence.py::test_replays_agree_with_the_program": (  # 100: their programs run
        *(f"{name}-two orders" for name in ("locals", "bounds", "unrolled", "ended", "pointers", "picked", "flags")),
        *("checks-two orders", "indirect-two orders"),
        *(
            "masks-two orders",
            "rows-two orders",
            "pairs-two orders",
            "odd-two orders",
            "pieces-two orders",
            "states-two orders",
        ),
    ),
    "tests/codegen/test_look_ahead.py::test_the_program_ends_where_it_ends": ("2",),  # 5
}
