"""Cases that only `pytest -m long` runs: others of the same test, or a smaller program, go the same ways sooner.

Beside each: CPU seconds, all of its cases together. Tests that always run only there have the marker themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

# Programs whose IR shows the same in both forms: that of clang's -O1 is followed sooner.
_SEEDS = tuple(
    f"{name}-seed"
    for name in (
        *("own_delete", "own_operators", "own_malloc", "own_new", "varargs", "virtual_calls", "booleans", "vectors"),
        *("struct_copies", "partial_overwrites", "atomics", "wide_integers", "bad_alloc", "stack_reuse", "recursion"),
    )
)

# Test → its cases, by the ids that pytest gives them; "" is a test without any.
CASES: dict[str, tuple[str, ...]] = {
    "tests/codegen/cuda/test_on_host.py::test_the_text_leaves_what_the_kernel_leaves": ("rows-60",),  # 10
    "tests/codegen/gpu/test_index_copies.py::test_copies_are_the_executors": ("indirect", "pairs"),  # 18
    "tests/codegen/kernels/test_kernels.py::test_every_variant_leaves_what_the_loop_left": (
        "rows-8",
        "indirect-8",
    ),  # 14
    "tests/codegen/kernels/test_ordered.py::test_sums_have_the_bits_of_the_program": (  # 10
        *("norm", "small", "product", "greater", "least"),
    ),
    "tests/codegen/kernels/test_pack_copies.py::test_starts_have_16_bits": ("rows-1-81",),  # 12
    "tests/codegen/kernels/test_tune_on_card.py::test_damaged_memories_are_measured_anew": (  # 6
        *("[1.0]", "[1.0, -2.0]", '["a", 1.0]', "[1.0, 2.0"),
    ),
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
    "tests/codegen/offload/test_host_layout.py::test_copies_and_objects": ("indirect", "odd"),  # 10
    "tests/codegen/offload/test_in_program.py::test_a_card_without_room_leaves_the_program_to_the_cpu": ("2", "9"),  # 5
    "tests/codegen/offload/test_in_program.py::test_blocks_keep_data": ("readonly",),  # 3
    "tests/codegen/offload/test_own_indices.py::test_all_loops_run_there": ("original", "swap-indirect"),  # 8
    "tests/codegen/offload/test_spac.py::test_on_the_card_it_prints_what_it_prints": (  # 33
        *("particlefilter", "cg", "spmv_nonzeros"),
    ),
    "tests/codegen/offload/test_step_scope.py::test_what_is_independent_in_every_step_is_taken": ("sums",),  # 5
    "tests/codegen/products/test_on_card.py::test_kernels_become_machine_code_of_cards": ("dtype1", "dtype2"),  # 6
    "tests/codegen/ptx/test_reductions.py::test_memory_operators": ("unsigned", "ulong", "uchar", "double"),  # 4
    "tests/codegen/ptx/test_reductions.py::test_register_reduction": (  # 5
        *("product", "isum", "steepest", "lowest", "most", "imul", "shortest"),
    ),
    "tests/codegen/ptx/test_semantics.py::test_kernel_computes_what_the_host_does": (  # 9
        *(f"swap-{name}" for name in ("backwards", "conditional", "extremes", "index_as_data", "records", "scratch")),
        *(f"swap-indirect-{name}" for name in ("chosen", "copies", "histogram", "mesh", "scaled", "spmv", "walk")),
        "swap-strided",
    ),
    "tests/codegen/ptx_interpreter/test_golden_agreement.py::test_golden_kernels": (  # 4
        *(f"{name}-64" for name in ("edges-swap-indirect", "rows-swap", "norm-swap", "waves-swap", "edges-swap")),
    ),
    "tests/codegen/runtime/test_coming_schedule.py::test_a_child_that_goes_on_is_left_alone": ("light",),  # 7
    "tests/codegen/runtime/test_coming_schedule.py::test_children_of_the_program_are_its_own": ("full",),  # 7
    "tests/codegen/runtime/test_coming_schedule.py::test_input_that_changes_while_it_is_made_is_met_by_the_guard": (
        "light",  # 4
    ),
    "tests/codegen/runtime/test_coming_schedule.py::test_it_comes_into_force_between_any_two_sweeps": (  # 10
        *("light-1", "light-38", "full-2", "full-7"),
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
    "tests/codegen/runtime/test_settled_inspections.py::test_a_refusal_settles_for_good": (  # 8
        *("light-other", "full-fewer", "light-rewritten"),
    ),
    "tests/codegen/runtime/test_settled_inspections.py::test_what_the_guard_refuses_is_not_made_again": (  # 5
        *("light-fewer", "full-rewritten"),
    ),
    "tests/codegen/runtime/test_shared_mappings.py::test_where_arrays_lie": (  # 30: each place has another way left
        *(f"listed-{place}" for place in ("last page", "file", "elsewhere", "child", "read only", "gone", "own")),
        *(
            f"asked-{place}"
            for place in ("anonymous", "index", "twice", "segment", "private file", "protected", "ring")
        ),
        "asked-private",
    ),
    "tests/codegen/runtime/test_surroundings.py::test_two_hundred_cases": (  # 13
        *("1 thread-same-oddly", "1 thread-other-oddly", "2 threads-same-plainly", "2 threads-other-plainly"),
    ),
    "tests/codegen/schedule/guards/test_guards.py::test_other_input": (  # 14: tests/fuzz/test_guards.py has more of all
        *("last-index", "flag", "shorter", "gate-value", "column", "scale", "one-index-array"),
    ),
    "tests/codegen/schedule/guards/test_guards.py::test_other_input_inspected_anew": ("index", "stride"),  # 4
    "tests/codegen/test_equivalence.py::test_replays_agree_with_the_program": (  # 50: in their programs they run sooner
        *(f"{name}-two orders" for name in ("locals", "bounds", "unrolled", "ended", "pointers", "picked", "flags")),
        *("checks-two orders", "indirect-two orders"),
    ),
    "tests/fuzz/test_floats.py::test_every_build_gives_the_same_bits": ("-ffp-contract=off",),  # 4
    "tests/fuzz/test_generator.py::test_compiles_without_a_warning": ("2",),  # 5
    "tests/fuzz/test_guards.py::test_changed_inputs": ("own",),  # 7
    "tests/fuzz/test_on_card.py::test_changed_inputs": ("own",),  # 7
    "tests/fuzz/test_on_card.py::test_thirty_loops": ("True", "False"),  # 23: test_warps_that_take_turns is alike
    "tests/fuzz/test_on_card.py::test_time_loops_that_run_as_often_as_data_say": ("True",),  # 8
    "tests/fuzz/test_pipeline.py::test_kernels_that_once_ended_with_an_error": ("90103-75", "90180-70"),  # 6
    "tests/fuzz/test_planted.py::test_is_found": (  # 27
        *("last_job_lost", "missed_alias", "new_numbers_as_data", "write_after_read"),
    ),
    "tests/mapping/placing/test_memory_centric.py::test_near_the_optimum_of_tiny_cases": ("1000000.0-size1",),  # 10
    "tests/mapping/placing/test_place.py::test_every_cluster_has_a_core": (  # 20
        *(
            f"{method}-{machine}"
            for method in ("swap", "round-robin", "random")
            for machine in ("mesh:4x4", "mesh:1x1")
        ),
        *(f"{method}-{machine}" for method in ("round-robin", "random") for machine in ("uma:3", "topo3:2:1:4")),
        *(f"{method}-mesh:5x2" for method in ("memory-centric", "hierarchical", "random")),
        *(f"{method}-cpu_gpu:3:1" for method in ("hierarchical", "swap", "round-robin")),
        *(f"memory-centric-greedy-{machine}" for machine in ("mesh:4x4", "mesh:1x1", "uma:3")),
        *("hierarchical-uma:3", "hierarchical-mesh:1x1", "swap-uma:3"),
    ),
    "tests/partition/balance/test_keep_capacities.py::test_every_method_keeps_them": (  # 6
        *("mtkahypar-km1", "kahip", "spac-split", "wvp-random"),
    ),
    "tests/partition/balance/test_least_imbalance.py::test_balance_of_many": (  # 14
        *(
            f"{method}-0.6"
            for method in ("mtkahypar", "mtkahypar-km1", "kahip", "kaminpar", "metis", "spac", "spac-split")
        ),
        *(f"{method}-0.6" for method in ("wvp-random", "wvp-greedy")),
        *(
            f"{method}-0.0"
            for method in ("mtkahypar", "mtkahypar-km1", "kahip", "kaminpar", "spac-split", "wvp-random")
        ),
    ),
    "tests/partition/streaming/test_vertex_cut.py::test_labels_are_those_of_the_reference": (  # 5
        *(f"True-{rule}-4096" for rule in ("w-pg", "w-libra", "wb-pg", "wb-libra")),
        *("False-powergraph-simple-4097", "False-wb-libra-4096", "False-wb-pg-4096"),
    ),
    "tests/partition/test_api.py::test_orders_with_blocks": ("mtkahypar-km1", "kahip", "spac-split", "wvp-random"),  # 4
    "tests/partition/test_data_methods.py::test_cuts_stay_near_those_of_metis": (  # 6
        *("rib-1.45", "multijagged-1.3", "morton-1.6", "parcubed-2.6", "kmeans-1.2"),
    ),
    "tests/partition/test_data_methods.py::test_threads_change_nothing": (
        "2-hkmeans",
        "3-geographer-r",
        "3-kmeans",
    ),  # 3
    "tests/partition/test_properties.py::test_every_method_with_a_process_of_its_own": ("spac-split",),  # 2
    "tests/partition/test_weights.py::test_dear_copies_are_made_seldom": (  # 10
        *("mtkahypar-km1", "kahip", "spac-split", "kaminpar"),
    ),
    "tests/partition/test_weights.py::test_peers_cut_what_they_cut_when_called_directly": (  # 3
        *("kahip-METIS 1", "kahip-scipy", "kahip-arrays", "kahip-edge list", "kaminpar-METIS 11"),
        *("kaminpar-Matrix Market", "kaminpar-networkx", "kaminpar-rows", "kaminpar-LocalityGraph"),
    ),
    "tests/partition/test_weights.py::test_the_unit_of_weights_does_not_matter": (
        "0.3333333333333333",
        "1000000000000.0",
    ),
    "tests/partition/test_weights.py::test_weights_may_be_zero": (  # 4
        *("some-mtkahypar", "all-kahip", "some-metis", "all-mtkahypar-km1", "some-kaminpar", "all-spac-split"),
    ),
    "tests/tracecut/api/test_emit.py::test_regular_nests_and_searches_have_kernels": ("search",),  # 10
    "tests/tracecut/cli/test_every_method.py::test_every_method": (  # 47, and kernels that are compiled for it
        *("degree-z", "expansion", "metis", "multilevel", "parcubed-det", "powergraph", "wb-libra"),
    ),
    "tests/tracecut/cli/test_main.py::test_the_second_time_nothing_is_compiled_for_us": ("",),  # 28
    "tests/tracecut/cli/test_odd_words.py::test_without_a_cache": (  # 17
        *("a file system of the kernel", "none", "a cache in a file"),
    ),
    "tests/tracecut/cli/test_ranks.py::test_a_rank_that_ends_in_the_midst_ends_all_and_is_named": (
        "raise MemoryError-tracecut: rank 1: not enough memory; all ranks end",  # 2
    ),
    "tests/tracecut/cli/test_run_device.py::test_ends_as_the_program_does": (  # 6
        *("with a negative status", "with too large a status", "by SIGINT", "by SIGTERM", "by SIGKILL"),
        *("by a real-time signal", "with a complaint"),
    ),
    "tests/tracecut/pipeline/output/test_publishing.py::test_every_step_of_publishing": ("EPERM", "ENOSPC"),  # 14
    "tests/tracecut/pipeline/output/test_publishing.py::test_files_can_not_grow": ("10000",),  # 2
    "tests/tracecut/pipeline/output/test_publishing.py::test_only_marked_folders_are_swept": (  # 3
        ".tracecut-staging-abcdefgh/data",
    ),
    "tests/tracecut/pipeline/output/test_publishing.py::test_unusual_places": ("inside of a result",),  # 7
    "tests/tracecut/pipeline/stages/test_compile.py::test_warnings_of_the_compiler_are_passed_on": (  # 4
        *("options1-14", "options3-0"),
    ),
    "tests/tracecut/pipeline/test_memory.py::test_long_cold_loops_are_not_looked_at": ("wraps",),  # 10
    "tests/tracecut/pipeline/test_optional_parts.py::test_the_job_goes_on": (  # 28
        *("misses before", "misses after", "the charts", "the numbers of the charts", "the source lines"),
        *("the remarks", "the remarks as YAML", "a GPU kernel", "the report", "GPU facts"),
    ),
    "tests/tracecut/test_bad_input.py::test_ir_is_a_source_too": ("program.ll-bitcode",),  # 4
    "tests/tracecut/test_bad_input.py::test_is_a_clear_error": (  # 12
        *("not C at all", "empty", "header is missing", "aborts", "overflows its stack"),
        *("sleeps for ever and ignores signals", "no such instruction", "library is missing"),
    ),
    "tests/tracecut/test_bad_input.py::test_is_no_usable_ir": (  # 14
        *("ll-noise", "ll-flipped", "bc-empty", "bc-noise", "bc-truncated", "ll-empty", "bc-text"),
    ),
    "tests/tracecut/test_bad_input.py::test_is_refused_with_the_reason": ("no loop", "prints megabytes"),  # 8
    "tests/tracecut/test_exact.py::test_a_rescheduled_program_that_does_something_else_is_refused": ("status",),  # 6
    "tests/tracecut/test_exact.py::test_a_sum_over_data_in_a_new_order_is_told": ("DOT",),  # 7
    "tests/tracecut/test_exact.py::test_exact_keeps_the_order_of_such_a_sum": ("DOT",),  # 8
    "tests/tracecut/test_interrupted.py::test_leaves_nothing": (  # 20: each signal, and each stage, has others
        *("compiling-1", "compiling-2", "compiling-9", "native run-1", "native run-15", "native run-2"),
        *("native run with a daemon-1", "native run with a daemon-15", "native run with a daemon-9"),
        *("traced run-15", "traced run-2", "traced run-9", "inspection-1", "inspection-15"),
    ),
    "tests/tracer/depgraph/test_edges.py::test_the_graph_of_the_interpreters_stream": _SEEDS,  # 13
    "tests/tracer/depgraph/test_edges.py::test_the_graph_of_the_traced_run": _SEEDS,  # 4
    "tests/tracer/depgraph/test_edges.py::test_the_program_shows_what_it_is_named_after": _SEEDS,
    "tests/tracer/depgraph/test_plain_kernels.py::test_plain_and_compiled_walks_agree": (  # 6
        *(f"{name}-kinds{kinds}" for name in _SEEDS for kinds in (0, 1)),
    ),
    "tests/tracer/depgraph/walk/test_anti_output.py::test_both_kinds_equal_the_reference": _SEEDS,  # 5
    "tests/tracer/depgraph/test_random_edges.py::test_random_kernels": ("702-O1", "704-seed"),  # 9
    "tests/tracer/trace/events/test_interposed_calls.py::test_every_call_from_the_libraries_is_recorded": (  # 8
        *("new-seed", "delete-seed", "malloc-seed", "new delete-seed"),
    ),
    "tests/tracer/trace/test_compact.py::test_code_of_large_modules": ("0-how1",),  # 5
    "tests/tracer/trace/test_compact.py::test_loops": (  # 22
        *(
            "backwards",
            "by three",
            "wraps at a byte",
            "wraps at a word",
            "unsigned index",
            "gather by words",
            "members",
        ),
        *("scatter", "one place", "a matrix", "a pointer", "until found", "calls", "a guard", "continue", "relaxing"),
        *("returns", "two steps in a region", "break"),
    ),
    "tests/tracer/trace/test_compact.py::test_random_kernels": ("913-O1",),  # 3
    "tests/tracer/trace/test_random.py::test_random_kernels": ("903-O1",),  # 3
}

# Test without cases → another one that goes the same way sooner.
WHOLE: dict[str, str] = {
    "tests/fuzz/test_on_card.py::test_time_loops": "test_time_loops_that_run_as_often_as_data_say",  # 6
    "tests/fuzz/test_pipeline.py::test_the_command_starts_in_the_root": "test_one_kernel_alone_may_have_rows",  # 6
    "tests/tracecut/pipeline/test_memory.py::test_what_does_not_fit_is_refused_with_the_number": (  # 8
        "test_long_cold_loops_are_not_looked_at"
    ),
    "tests/tracecut/pipeline/test_reasons.py::test_rows_are_blamed_on_the_line_that_reaches_them_elsewhere": (  # 8
        "test_streams_are_blamed_where_rows_are_understood"
    ),
    "tests/tracecut/pipeline/test_regular_for_gpu.py::test_its_loops_run_on_the_card": (  # 20
        "test_gaussian_elimination_stays_on_the_card"
    ),
    "tests/tracecut/test_bad_input.py::test_names_with_spaces_and_other_letters": "test_names_that_are_not_utf8",  # 3
    "tests/tracecut/test_exact.py::test_exact_keeps_what_is_equal_bit_by_bit": (  # 8
        "test_exact_keeps_the_order_of_such_a_sum"
    ),
}
# Tests of many small cases, each of which goes the way of the others but for a detail → one of so many runs sooner.
EVERY: dict[str, int] = {  # 60, all together
    "tests/codegen/emulation/test_atomics.py::test_atomics": 2,
    "tests/codegen/emulation/test_random_kernels.py::test_random_kernels": 2,
    "tests/codegen/emulation/test_random_races.py::test_random_accesses": 2,
    "tests/partition/test_api.py::test_cheap_partitions_hold": 2,
    "tests/partition/test_optimum.py::test_no_balanced_method_beats_the_optimum": 2,
    "tests/partition/test_weights.py::test_metis_cuts_what_it_cuts_when_called_directly": 2,
    "tests/tracer/depgraph/test_edges.py::test_a_graph_does_not_depend_on_addresses_nor_on_chunks": 2,
    "tests/tracer/test_growth.py::test_work_grows_with_the_function": 2,
}
LONG = {**CASES, **dict.fromkeys(WHOLE, ("",))}


class LongCases:
    """A plugin: marks the cases, and refuses to go on where one is not there any more."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}
        self._many = Counter[str]()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        test, _, case = item.nodeid.partition("[")
        if test in LONG:
            self._found.setdefault(test, set()).add(case.removesuffix("]"))
            if case.removesuffix("]") in LONG[test]:
                item.add_marker(pytest.mark.long)
        if test in EVERY:
            self._many[test] += 1
            if self._many[test] % EVERY[test] != 1:
                item.add_marker(pytest.mark.long)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        if any("::" in word for word in config.args):
            return  # a test by its name: others of its file are not collected
        files = {item.nodeid.partition("::")[0] for item in items}
        gone = [
            f"{test}[{case}]"
            for test, cases in LONG.items()
            for case in cases
            if test.partition("::")[0] in files and case not in self._found.get(test, ())
        ]
        gone += [test for test in EVERY if test.partition("::")[0] in files and not self._many[test]]
        if gone:
            raise pytest.UsageError(f"tests/long_cases.py names cases that are not there: {', '.join(gone)}")
