"""Cases that only `pytest -m long` runs: others of the same test, or a smaller program, go the same ways sooner.

Beside each: CPU seconds, all of its cases together. Tests that always run only there have the marker themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from .long_cases_of_codegen import CODEGEN

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
    **CODEGEN,
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
    "tests/ir/gpu/test_memory_model.py::test_counts_equal_the_slow_model": (
        "False-texture cache",
        "True-unified L1",
        "False-half-warps, no cache",
        "True-other ways",
    ),  # 5
    "tests/ir/gpu/test_sparse_gathers.py::test_split_and_connect": ("rmat",),  # 4
    "tests/ir/llvm/test_module.py::test_samples_mean_the_same_when_printed_again": ("md_forces", "spmv_cg"),  # 3
    "tests/mapping/placing/test_memory_centric.py::test_near_the_optimum_of_tiny_cases": ("1000000.0-size1",),  # 10
    "tests/mapping/placing/test_place.py::test_every_cluster_has_a_core": (  # 27
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
        *(
            "memory-centric-mesh:4x4",
            "memory-centric-uma:3",
            "memory-centric-topo3:2:1:4",
            "memory-centric-greedy-mesh:5x2",
            "memory-centric-greedy-cpu_gpu:3:1",
            "hierarchical-mesh:4x4",
            "swap-topo3:2:1:4",
        ),
    ),
    "tests/mapping/simulation/test_against_simgrid.py::test_nine_in_ten_times_are_within_a_fifth_of_those_of_simgrid": (
        "python-5000",
    ),  # 52
    "tests/mapping/simulation/test_caches.py::test_one_core_pays_what_the_cache_simulator_says": (
        "python-mesh:1x1-40-20000",
        "python-model-40-20000",
    ),  # 22
    "tests/mapping/test_map_onto.py::test_a_grid_lies_as_it_is_on_its_mesh": ("python",),  # 5
    "tests/mapping/test_map_onto.py::test_fewer_hops_than_a_cut_that_is_placed": (
        "python-mesh:8x8",
        "python-torus:4x4",
        "python-tree:4x4x4@100,10,1",
    ),  # 20
    "tests/mapping/test_map_onto.py::test_whole_data_on_many_cores": ("python",),  # 6
    "tests/partition/balance/test_keep_capacities.py::test_every_method_keeps_them": (  # 13
        *("mtkahypar-km1", "kahip", "spac-split", "wvp-random"),
        *("mtkahypar", "kaminpar", "wvp-greedy"),
    ),
    "tests/partition/balance/test_least_imbalance.py::test_balance_of_many": (  # 20
        *(
            f"{method}-0.6"
            for method in ("mtkahypar", "mtkahypar-km1", "kahip", "kaminpar", "metis", "spac", "spac-split")
        ),
        *(f"{method}-0.6" for method in ("wvp-random", "wvp-greedy")),
        *(
            f"{method}-0.0"
            for method in ("mtkahypar", "mtkahypar-km1", "kahip", "kaminpar", "spac-split", "wvp-random")
        ),
        *(
            "mtkahypar-1.2",
            "mtkahypar-km1-1.2",
            "wvp-greedy-1.2",
            "spac-split-1.2",
            "wvp-random-1.2",
            "metis-1.2",
            "spac-1.2",
        ),
    ),
    "tests/partition/community/test_compnet.py::test_spac_split_is_about_as_good_as_contracted": ("True",),  # 2
    "tests/partition/edge_cut/test_split_connect.py::test_threads_change_nothing": ("metis-1",),  # 2
    "tests/partition/edge_cut/test_weighted_vertex.py::test_jobs_of_one_cluster_stay": ("wvp-random",),  # 1
    "tests/partition/external/test_kaminpar_kahip_mtkahypar.py::test_spac_around_any_vertex_partitioner": (
        "spac-kahip",
        "spac-mtkahypar",
        "spac-split-metis",
        "spac-split-kaminpar",
    ),  # 1
    "tests/partition/refinement/test_km1.py::test_refine_after_any_method": ("spac",),  # 1
    "tests/partition/streaming/test_vertex_cut.py::test_labels_are_those_of_the_reference": (  # 7
        *(f"True-{rule}-4096" for rule in ("w-pg", "w-libra", "wb-pg", "wb-libra")),
        *("False-powergraph-simple-4097", "False-wb-libra-4096", "False-wb-pg-4096"),
        *("True-wb-pg-4097", "False-wb-libra-4097"),
    ),
    "tests/partition/test_api.py::test_orders_with_blocks": (  # 7
        "mtkahypar-km1",
        "kahip",
        "spac-split",
        "wvp-random",
        *("mtkahypar", "wvp-greedy", "kaminpar"),
    ),
    "tests/partition/test_api.py::test_targets_and_weights": ("spac",),  # 1
    "tests/partition/test_data_methods.py::test_cuts_stay_near_those_of_metis": (  # 11
        *("rib-1.45", "multijagged-1.3", "morton-1.6", "parcubed-2.6", "kmeans-1.2"),
        *("gpart-2.6", "hkmeans-1.25", "compnet-1.5", "parcubed-det-1.4"),
    ),
    "tests/partition/test_data_methods.py::test_threads_change_nothing": (
        "2-hkmeans",
        "3-geographer-r",
        "3-kmeans",
        "3-hkmeans",
    ),  # 3
    "tests/partition/test_properties.py::test_every_method_with_a_process_of_its_own": ("spac-split",),  # 2
    "tests/partition/test_weights.py::test_dear_copies_are_made_seldom": (  # 15
        *("mtkahypar-km1", "kahip", "spac-split", "kaminpar"),
        *("mtkahypar", "spac"),
    ),
    "tests/partition/test_weights.py::test_peers_cut_what_they_cut_when_called_directly": (  # 5
        *("kahip-METIS 1", "kahip-scipy", "kahip-arrays", "kahip-edge list", "kaminpar-METIS 11"),
        *("kaminpar-Matrix Market", "kaminpar-networkx", "kaminpar-rows", "kaminpar-LocalityGraph"),
        *("kahip-METIS 011 1", "kahip-rows", "kahip-LocalityGraph", "kaminpar-METIS 1", "kaminpar-arrays"),
    ),
    "tests/partition/test_weights.py::test_the_unit_of_weights_does_not_matter": (
        "0.3333333333333333",
        "1000000000000.0",
    ),
    "tests/partition/test_weights.py::test_weights_may_be_zero": (  # 7
        *("some-mtkahypar", "all-kahip", "some-metis", "all-mtkahypar-km1", "some-kaminpar", "all-spac-split"),
        *("all-mtkahypar", "some-kahip", "all-kaminpar", "some-mtkahypar-km1", "some-spac"),
    ),
    "tests/samples/test_optimize.py::test_its_results_are_those_of_the_program": ("md_forces-1", "md_forces-2"),  # 2
    "tests/samples/test_optimize.py::test_kernels_are_emitted_and_assemble": ("md_forces",),  # 1
    "tests/samples/test_optimize.py::test_the_irregular_loop_is_rescheduled": ("md_forces",),  # 25
    "tests/samples/test_optimize.py::test_the_schedule_is_used": ("md_forces",),  # 1
    "tests/samples/test_spac.py::test_the_remedy_computes_the_same": ("cfd_elements", "btree", "spmv_nonzeros"),  # 3
    "tests/support/test_npz_archive.py::TestReading::test_every_flipped_bit_is_noticed": ("0",),  # 4
    "tests/support/test_npz_archive.py::TestReading::test_every_flipped_bit_of_our_own_files_is_noticed": (
        "True",
    ),  # 2
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
    "tests/tracecut/pipeline/output/test_publishing.py::test_files_can_not_grow": (  # 4
        "10000",
        "40000",
    ),
    "tests/tracecut/pipeline/output/test_publishing.py::test_files_of_others_stay": (
        "a report",
        "somebody's listing",
        "the manifest of a web page",
    ),  # 2
    "tests/tracecut/pipeline/output/test_publishing.py::test_only_marked_folders_are_swept": (  # 6
        ".tracecut-staging-abcdefgh/data",
        ".tracecut-notes/plan.txt",
    ),
    "tests/tracecut/pipeline/output/test_publishing.py::test_unusual_places": (  # 10
        "inside of a result",
        "the folder of another program",
    ),
    "tests/tracecut/pipeline/stages/test_compile.py::test_warnings_of_the_compiler_are_passed_on": (  # 6
        *("options1-14", "options3-0"),
        "options0-6",
    ),
    "tests/tracecut/pipeline/test_memory.py::test_long_cold_loops_are_not_looked_at": ("wraps",),  # 10
    "tests/tracecut/pipeline/test_optional_parts.py::test_the_job_goes_on": (  # 28
        *("misses before", "misses after", "the charts", "the numbers of the charts", "the source lines"),
        *("the remarks", "the remarks as YAML", "a GPU kernel", "the report", "GPU facts"),
    ),
    "tests/tracecut/test_bad_input.py::test_ir_is_a_source_too": (  # 7
        "program.ll-bitcode",
        "program.bc-bitcode",
    ),
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
    "tests/tracer/toolchain/test_cxx.py::test_cxx_programs_do_what_they_say": ("shapes",),  # 5
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
    "tests/tracecut/api/test_emit.py::test_the_model_chooses": (  # 7
        "tests/tracecut/pipeline/test_gpu_choice.py::test_a_loop_has_a_kernel_whatever_pays_here"
    ),
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
EVERY: dict[str, int] = {  # 80, all together
    "tests/codegen/emulation/test_atomics.py::test_atomics": 2,
    "tests/codegen/emulation/test_random_kernels.py::test_random_kernels": 2,
    "tests/codegen/emulation/test_random_races.py::test_random_accesses": 2,
    "tests/partition/test_api.py::test_cheap_partitions_hold": 2,
    "tests/partition/test_optimum.py::test_no_balanced_method_beats_the_optimum": 2,
    "tests/partition/test_weights.py::test_metis_cuts_what_it_cuts_when_called_directly": 2,
    "tests/tracer/depgraph/test_edges.py::test_a_graph_does_not_depend_on_addresses_nor_on_chunks": 2,
    "tests/tracer/depgraph/test_plain_kernels.py::test_plain_and_compiled_walks_agree": 3,
    "tests/tracer/depgraph/walk/test_anti_output.py::test_both_kinds_equal_the_reference": 3,
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

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        self._expect_all(config, items)
        if config.option.markexpr == "quick":  # which takes the place of `not long`
            config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
            items[:] = [item for item in items if not item.get_closest_marker("long")]

    def _expect_all(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
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
