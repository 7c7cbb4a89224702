"""Cases that only `pytest -m long` runs: others of the same test, or a smaller program, go the same ways sooner.

Beside each: CPU seconds, all of its cases together. Tests that always run only there have the marker themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from .kept_cases import KEPT
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
    "tests/fuzz/test_floats.py::test_every_build_gives_the_same_bits": ("-O3 -march=x86-64-v3",),  # 5: of test_exact.py
    "tests/fuzz/test_generator.py::test_compiles_without_a_warning": ("2",),  # 7
    "tests/fuzz/test_guards.py::test_changed_inputs": ("own",),  # 7
    "tests/fuzz/test_on_card.py::test_changed_inputs": ("own", "mesh_flux"),  # 14: tests/fuzz/test_guards.py has them
    "tests/fuzz/test_on_card.py::test_thirty_loops": ("True", "False"),  # 23: time loops are alike
    "tests/fuzz/test_on_card.py::test_time_loops_that_run_as_often_as_data_say": ("True",),  # 8
    "tests/fuzz/test_pipeline.py::test_kernels_that_once_ended_with_an_error": ("90103-75", "90180-70"),  # 6
    "tests/fuzz/test_planted.py::test_is_found": (  # 27
        *("last_job_lost", "missed_alias", "new_numbers_as_data", "write_after_read"),
    ),
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
    "tests/mapping/test_map_onto.py::test_a_grid_lies_as_it_is_on_its_mesh": ("python",),  # 5
    "tests/mapping/test_map_onto.py::test_fewer_hops_than_a_cut_that_is_placed": (
        "python-mesh:8x8",
        "python-torus:4x4",
        "python-tree:4x4x4@100,10,1",
    ),  # 20
    "tests/mapping/test_map_onto.py::test_whole_data_on_many_cores": ("python",),  # 6
    "tests/packaging/test_gpu_kit_whole.py::test_a_kit_is_made_moved_and_measured": ("one program",),  # 24
    "tests/partition/community/test_compnet.py::test_spac_split_is_about_as_good_as_contracted": ("True",),  # 2
    "tests/partition/edge_cut/test_weighted_vertex.py::test_jobs_of_one_cluster_stay": ("wvp-random",),  # 1
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
    "tests/partition/test_weights.py::test_weights_may_be_zero": (  # 7
        *("some-mtkahypar", "all-kahip", "some-metis", "all-mtkahypar-km1", "some-kaminpar", "all-spac-split"),
        *("all-mtkahypar", "some-kahip", "all-kaminpar", "some-mtkahypar-km1", "some-spac"),
    ),
    "tests/support/test_npz_archive.py::TestReading::test_every_flipped_bit_is_noticed": ("0",),  # 4
    "tests/support/test_npz_archive.py::TestReading::test_every_flipped_bit_of_our_own_files_is_noticed": (
        "True",
    ),  # 2
    "tests/tracecut/api/test_emit.py::test_regular_nests_and_searches_have_kernels": ("search",),  # 10
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
    "tests/tracecut/pipeline/output/test_publishing.py::test_unusual_places": (  # 10
        "inside of a result",
        "the folder of another program",
    ),
    "tests/tracecut/pipeline/stages/test_compile.py::test_warnings_of_the_compiler_are_passed_on": (  # 6
        *("options1-14", "options3-0"),
        "options0-6",
    ),
    "tests/tracecut/pipeline/test_memory.py::test_long_cold_loops_are_not_looked_at": ("wraps",),  # 10
    "tests/tracecut/test_bad_input.py::test_ir_is_a_source_too": (  # 7
        "program.ll-bitcode",
        "program.bc-bitcode",
    ),
    "tests/tracecut/test_exact.py::test_a_rescheduled_program_that_does_something_else_is_refused": ("status",),  # 6
    "tests/tracecut/test_exact.py::test_a_sum_over_data_in_a_new_order_is_told": ("DOT",),  # 7
    "tests/tracecut/test_exact.py::test_exact_keeps_the_order_of_such_a_sum": ("DOT",),  # 8
    "tests/tracer/depgraph/test_plain_kernels.py::test_plain_and_compiled_walks_agree": (  # 6
        *(f"{name}-kinds{kinds}" for name in _SEEDS for kinds in (0, 1)),
    ),
    "tests/tracer/depgraph/walk/test_anti_output.py::test_both_kinds_equal_the_reference": _SEEDS,  # 5
    "tests/tracer/toolchain/test_cxx.py::test_cxx_programs_do_what_they_say": ("shapes",),  # 5
    "tests/tracer/trace/test_compact.py::test_code_of_large_modules": ("0-how1", "1073741824-how0"),  # 11
}

# Test without cases → another one that goes the same way sooner.
WHOLE: dict[str, str] = {
    "tests/codegen/kernels/test_tune_on_card.py::test_the_search_takes_what_is_fastest_on_the_card": (  # 13
        "test_times_are_remembered_for_these_kernels_input_card_and_driver"
    ),
    "tests/codegen/offload/test_own_indices.py::test_random_programs": "test_all_loops_run_there",  # 8
    "tests/codegen/offload/test_own_indices.py::test_other_numbers_lead_to_fields_that_nobody_writes": (  # 4
        "test_with_other_numbers_records_keep_theirs"
    ),
    "tests/fuzz/test_generator.py::test_a_healthy_share_of_the_kernels_may_be_reordered": (  # 3
        "tests/fuzz/test_pipeline.py::test_a_hundred_kernels"
    ),
    "tests/fuzz/test_on_card.py::test_warps_that_take_turns": (  # 9
        "test_time_loops_that_run_as_often_as_data_say"
    ),
    "tests/tracecut/cli/test_annotate.py::test_a_source_outside_of_the_current_folder": (  # 2
        "test_the_listing_in_the_terminal"
    ),
    "tests/tracecut/cli/test_graph.py::test_hazards_are_there_when_they_are_asked_for": (  # 3
        "tests/tracer/depgraph/walk/test_anti_output.py::test_both_kinds_equal_the_reference"
    ),
    "tests/tracecut/cli/test_graph.py::test_measured_weights_agree_or_are_refused": (  # 3
        "tests/tracer/depgraph/test_measured_weights.py::test_a_timed_trace_brings_its_times"
    ),
    "tests/tracecut/cli/test_main.py::test_a_region_is_asked_for": (  # 10
        "tests/tracecut/pipeline/stages/test_select_loops.py::test_a_region_can_be_asked_for"
    ),
    "tests/tracecut/cli/test_main.py::test_progress_is_for_terminals": "tests/support/test_progress.py",  # 6
    "tests/tracecut/cli/test_main.py::test_several_sources_and_options_of_the_compiler": (  # 4
        "tests/tracer/toolchain/test_cxx.py::test_several_files_options_and_languages"
    ),
    "tests/tracecut/cli/test_odd_words.py::test_streams_that_can_not_be_written": (  # 7
        "tests/tracecut/cli/test_main.py::test_standard_output_is_closed"
    ),
    "tests/tracecut/cli/test_odd_words.py::test_input_from_anything_that_can_be_read": "test_one_command",  # 10
    "tests/tracecut/pipeline/output/test_publishing.py::test_a_printed_manifest_does_not_make_a_result": (  # 2
        "tests/tracecut/cli/test_main.py::test_the_manifest_is_printed"
    ),
    "tests/tracecut/test_exact.py::test_a_check_of_what_was_not_changed": (  # 5
        "test_a_check_of_the_run_that_was_compared"
    ),
    "tests/tracecut/test_frontends.py::test_a_cxx_program_is_traced": (  # 9
        "tests/tracer/toolchain/test_cxx.py::test_traced_cxx_programs_do_what_they_say"
    ),
    "tests/tracer/toolchain/test_inlining.py::test_a_large_module_grows_by_a_share": (  # 4
        "tests/tracer/test_growth.py::test_work_grows_with_the_function"
    ),
    "tests/tracer/trace/test_csmith.py::test_graphs_are_compared": "test_programs_that_agree",  # 5
    "tests/tracer/recorded/test_wrapper.py::test_members_that_cannot_be_read_are_linked_from_their_archive": (  # 6
        "test_what_clang_does_not_compile_is_linked_as_it_was_compiled"
    ),
    "tests/tracer/recorded/test_wrapper.py::test_what_clang_does_not_compile_may_write_to_stderr": (  # 5
        "test_what_clang_does_not_compile_is_linked_as_it_was_compiled"
    ),
    "tests/fuzz/test_on_card.py::test_time_loops": "test_time_loops_that_run_as_often_as_data_say",  # 6
    "tests/fuzz/test_pipeline.py::test_the_command_starts_in_the_root": "test_one_kernel_alone_may_have_rows",  # 6
    "tests/tracer/recorded/test_wrapper.py::test_assembly_is_linked_as_it_is": (  # 4
        "test_what_clang_does_not_compile_is_linked_as_it_was_compiled"
    ),
    "tests/tracecut/api/test_emit.py::test_shared_memory_spares_traffic": (  # 4
        "tests/codegen/cuda/test_cuda_text.py::test_the_text_is_that_of_the_golden_file"
    ),
    "tests/tracecut/pipeline/test_reasons.py::test_loops_of_the_library_name_the_line_that_calls_them": (  # 5
        "test_random_generators_are_seen_in_the_text_of_a_loop"
    ),
    "tests/tracecut/test_bad_input.py::test_a_heap_that_breaks_only_when_it_is_traced": (  # 3
        "test_fails_only_when_it_is_traced"
    ),
    "tests/tracecut/test_bad_input.py::test_a_program_in_the_folder_is_not_mistaken_for_a_module": (  # 2
        "test_reads_its_input_from_a_file"
    ),
    "tests/tracecut/api/test_emit.py::test_ordered_sums_are_the_same_every_time": (  # 5
        "tests/codegen/kernels/test_ordered.py::test_sums_have_the_bits_of_the_program"
    ),
    "tests/tracecut/api/test_emit.py::test_the_model_chooses": (  # 7
        "tests/tracecut/pipeline/test_gpu_choice.py::test_a_loop_has_a_kernel_whatever_pays_here"
    ),
    "tests/tracecut/pipeline/test_gpu_choice.py::test_a_budget_that_is_spent_leaves_the_first_kernel": (  # 4
        "tests/codegen/kernels/test_choose_kernel.py::test_when_the_time_is_over_the_best_so_far_is_taken"
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
    "tests/tracecut/test_bad_input.py::test_needs_a_library": "test_is_a_clear_error",  # 4
    "tests/tracecut/test_bad_input.py::test_names_with_spaces_and_other_letters": "test_names_that_are_not_utf8",  # 3
    "tests/tracecut/test_exact.py::test_exact_keeps_what_is_equal_bit_by_bit": (  # 8
        "test_exact_keeps_the_order_of_such_a_sum"
    ),
}
# Tests of many small cases, each of which goes the way of the others but for a detail → one of so many runs sooner.
EVERY: dict[str, int] = {  # 400, all together
    "tests/codegen/emulation/test_atomics.py::test_atomics": 4,
    "tests/codegen/emulation/test_golden_kernels.py::test_golden_kernels": 3,
    "tests/codegen/emulation/test_golden_kernels.py::test_mathematical_functions": 4,
    "tests/codegen/emulation/test_planted.py::test_planted_faults_are_found": 4,
    "tests/codegen/emulation/test_random_kernels.py::test_random_kernels": 4,
    "tests/codegen/emulation/test_random_races.py::test_random_accesses": 4,
    "tests/codegen/cuda/test_cuda_text.py::test_single_instructions_have_the_same_bits": 3,
    "tests/ir/gpu/test_closed_forms.py::test_sectors_of_strides": 6,
    "tests/ir/gpu/test_description.py::test_a_value_of_another_kind_is_named": 7,
    "tests/ir/machine/test_cpu_places.py::test_garbage_in_every_file": 3,
    "tests/mapping/joint/test_sweeps.py::test_the_cost_falls_by_what_is_said": 5,
    "tests/mapping/simulation/test_against_simgrid.py::test_the_recipe_makes_the_stored_graphs": 3,
    "tests/mapping/simulation/test_jobs.py::test_reference": 7,
    "tests/mapping/test_iteration_time.py::test_as_the_definitions_say": 4,
    "tests/mapping/test_link_loads.py::test_every_job_goes_its_way": 3,
    "tests/partition/external/test_kaminpar_kahip_mtkahypar.py::"
    "test_graphs_without_structure_never_reach_a_graph_library": 3,
    "tests/partition/inputs/test_graph_files.py::test_files_are_read": 3,
    "tests/partition/inputs/test_matrix_files.py::test_like_scipy": 3,
    "tests/partition/inputs/test_stream_matrix.py::test_equals_what_is_read_into_memory": 3,
    "tests/partition/shared_memory/test_parcubed_deterministic.py::test_parcubed_det_keeps_its_promises": 3,
    "tests/partition/streaming/test_vertex_cut.py::test_any_graph": 2,
    "tests/partition/streaming/test_vertex_cut.py::test_labels_are_those_of_the_reference": 4,
    "tests/partition/streaming/test_vertex_cut.py::test_the_bound_is_kept": 3,
    "tests/partition/test_api.py::test_an_empty_graph": 5,
    "tests/partition/test_api.py::test_cheap_partitions_hold": 4,
    "tests/partition/test_api.py::test_orders_with_blocks": 3,
    "tests/partition/test_optimum.py::test_no_balanced_method_beats_the_optimum": 7,
    "tests/partition/test_shapes.py::test_communities_halve_each_round": 3,
    "tests/partition/test_shapes.py::test_data_join_few_clusters": 3,
    "tests/partition/test_weights.py::test_metis_cuts_what_it_cuts_when_called_directly": 5,
    "tests/partition/test_weights.py::test_weights_may_be_zero": 7,
    "tests/samples/test_programs.py::test_compiles_to_llvm_ir_without_a_warning": 3,
    "tests/samples/test_vertexcut.py::test_a_wrong_checksum_is_an_error": 4,
    "tests/samples/test_vertexcut.py::test_prints_what_a_reference_computes": 3,
    "tests/support/process/test_hostile.py::test_ending": 2,
    "tests/tracecut/cli/test_every_method.py::test_a_method_that_needs_coordinates_is_refused": 4,
    "tests/tracecut/cli/test_machine.py::test_what_is_refused": 3,
    "tests/tracecut/cli/test_main.py::test_help": 3,
    "tests/tracecut/cli/test_main.py::test_the_command_line_is_wrong": 3,
    "tests/tracecut/cli/test_odd_words.py::test_one_command": 4,
    "tests/tracecut/cli/test_partition.py::test_mistakes_are_said": 4,
    "tests/tracecut/cli/test_program_identity.py::test_streams_and_names": 3,
    "tests/tracecut/cli/test_program_identity.py::test_what_the_interpreter_is_told": 3,
    "tests/tracecut/cli/test_run.py::test_ends_as_the_program_does": 3,
    "tests/tracecut/cli/test_run.py::test_is_told_to_stop": 3,
    "tests/tracecut/cli/test_run.py::test_surroundings": 4,
    "tests/tracecut/cli/test_run.py::test_the_folder_was_moved": 3,
    "tests/tracer/depgraph/test_edges.py::test_a_graph_does_not_depend_on_addresses_nor_on_chunks": 6,
    "tests/tracer/depgraph/test_plain_kernels.py::test_plain_and_compiled_walks_agree": 9,
    "tests/tracer/depgraph/walk/test_anti_output.py::test_both_kinds_equal_the_reference": 9,
    "tests/tracer/runtime/test_fingerprint.py::test_every_bit_at_every_place_counts": 3,
    "tests/tracer/runtime/test_fingerprint.py::test_fields_are_their_bytes_in_order": 5,
    "tests/tracer/test_growth.py::test_work_grows_with_the_function": 6,
    "tests/tracer/toolchain/test_exchanged_allocations.py::test_it_is_exchanged_and_given_back": 3,
    "tests/tracer/toolchain/test_first_steps.py::test_first_steps": 2,
    "tests/tracer/toolchain/test_held_carried.py::test_carried_pointers": 3,
    "tests/tracer/toolchain/test_hoisted_allocations.py::test_the_same_is_computed_and_nothing_is_lost": 2,
    "tests/tracer/toolchain/test_joined_pieces.py::test_the_same_elements_in_the_same_order": 3,
    "tests/tracer/toolchain/test_joined_pieces.py::test_what_is_joined": 3,
    "tests/tracer/toolchain/test_joined_tiles.py::test_the_same_elements_in_the_same_order": 3,
    "tests/tracer/toolchain/test_joined_tiles.py::test_what_is_joined": 3,
    "tests/tracer/toolchain/test_kept_allocations.py::test_it_is_kept_and_given_back": 3,
    "tests/tracer/toolchain/test_kept_allocations.py::test_what_is_not_kept": 2,
    "tests/tracer/toolchain/test_looked_ahead.py::test_loops_that_are_left_early": 3,
    "tests/tracer/toolchain/test_parted_calls.py::test_calls_under_a_condition": 3,
    "tests/tracer/toolchain/test_read_ir.py::test_damaged_ir_is_named_and_harms_nobody": 2,
    "tests/tracer/toolchain/test_unrolled_planes.py::test_short_loops_over_planes": 3,
    "tests/tracer/trace/events/test_library_effects.py::test_ranges_of_library_functions": 2,
    "tests/tracer/trace/instrument/test_region_switch.py::test_some_iterations": 3,
    "tests/tracer/trace/record/test_record.py::test_everything_up_to_the_end_is_there": 2,
    "tests/tracer/trace/test_hostile.py::test_the_stream_makes_sense_up_to_the_end": 3,
}
LONG = {**CASES, **dict.fromkeys(WHOLE, ("",))}
NAMED = {**LONG, **KEPT}  # cases that have to be there


class LongCases:
    """A plugin: marks the cases, and refuses to go on where one is not there any more."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}
        self._many = Counter[str]()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        test, _, case = item.nodeid.partition("[")
        case = case.removesuffix("]")
        if test in NAMED:
            self._found.setdefault(test, set()).add(case)
        if case in LONG.get(test, ()) or (test in KEPT and case not in KEPT[test]):
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
            for test, cases in NAMED.items()
            for case in cases
            if test.partition("::")[0] in files and case not in self._found.get(test, ())
        ]
        gone += [test for test in EVERY if test.partition("::")[0] in files and not self._many[test]]
        if gone:
            raise pytest.UsageError(
                f"tests/long_cases.py or kept_cases.py names cases that are not there: {', '.join(gone)}"
            )
