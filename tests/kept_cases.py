"""Tests of which the plain run has these cases alone; `pytest -m long` runs the others: see `long_cases.py`.

One case that is accepted and one that is refused, where there are both; sizes and forms that take other ways.
"""

from __future__ import annotations

# Programs with other instructions, calls or ways out; each is compiled and followed once for all tests.
_TRACED = (
    *("unions-O1", "unions-seed", "overlapping_copies-O1", "phi_cycles-O1", "strings-O1", "exceptions-seed"),
    *("setjmp-O1", "switch-O1", "realloc-O1", "recursion-O1", "struct_copies-O1", "function_pointers-seed"),
)

# Test → the cases that stay, by the ids that pytest gives them.
KEPT: dict[str, tuple[str, ...]] = {
    "tests/codegen/cuda/test_cuda_text.py::test_nvcc_compiles_it": ("csr-smem",),
    "tests/codegen/gpu/test_index_copies.py::test_copies_are_the_executors": ("rows",),
    "tests/codegen/kernels/test_ordered.py::test_sums_have_the_bits_of_the_program": ("rows",),
    "tests/codegen/kernels/test_pack_copies.py::test_starts_have_16_bits": ("apart-2-800",),
    "tests/codegen/kernels/test_pack_copies.py::test_the_kernels_leave_what_the_program_left": ("rows", "odd"),
    "tests/codegen/kernels/test_tune_on_card.py::test_damaged_memories_are_measured_anew": ("{}",),
    "tests/codegen/mining/test_on_disk.py::test_cg": ("False-40", "True-700"),
    "tests/codegen/mining/test_on_disk.py::test_hits": ("plain-40", "weighted-700", "zeros-None"),
    "tests/codegen/mining/test_on_disk.py::test_pagerank_has_the_same_bits": ("plain-40", "weighted-700", "zeros-None"),
    "tests/codegen/mining/test_on_disk.py::test_rwr": ("sparse-700", "weighted-None", "zeros-None"),
    "tests/codegen/mining/test_on_ranks.py::test_scores_are_those_of_one_rank": (
        *("columns-needed", "bitonic-allgather", "km1-allgather"),
    ),
    "tests/codegen/mining/test_on_ranks.py::test_solutions_are_those_of_one_rank": ("columns", "km1"),
    "tests/codegen/offload/test_host_and_card.py::test_the_program_prints_what_it_printed": (
        "swap-values at the border",
    ),
    "tests/codegen/offload/test_in_program.py::test_a_card_that_is_lost_ends_the_program": ("2",),
    "tests/codegen/offload/test_in_program.py::test_blocks_keep_data": ("smem",),
    "tests/codegen/offload/test_in_program.py::test_the_program_prints_what_it_printed": ("swap-indirect",),
    "tests/codegen/ptx/test_golden_ptx.py::test_ptxas_accepts_every_architecture": ("sm_75", "sm_120"),
    "tests/codegen/ptx/test_math_calls.py::test_mathematical_functions_come_from_libdevice": ("doubles-f8-1e-13",),
    "tests/codegen/ptx/test_reductions.py::test_memory_operators": ("int", "float"),
    "tests/codegen/ptx/test_reductions.py::test_register_reduction": ("fsum", "least", "any"),
    "tests/codegen/ptx/test_semantics.py::test_kernel_computes_what_the_host_does": (
        *("swap-mesh", "swap-spmv", "swap-indirect-scratch", "swap-indirect-index_as_data"),
    ),
    "tests/codegen/ptx_interpreter/test_golden_agreement.py::test_golden_kernels": ("edges-swap-7", "mixed-swap-64"),
    "tests/codegen/ranks/test_products.py::test_products": ("columns-needed", "bitonic-allgather", "km1-allgather"),
    "tests/codegen/ranks/test_splits.py::test_the_model_counts_what_sets_hold": ("columns", "grid", "km1"),
    "tests/codegen/runtime/test_saved_schedule.py::test_a_layout_that_too_few_sweeps_pay_for_is_not_used": ("8-1",),
    "tests/codegen/runtime/test_saved_schedule.py::test_pointers_that_lie_in_structures_are_followed": ("behind-0-0",),
    "tests/codegen/runtime/test_shared_mappings.py::test_where_arrays_lie": (
        *("listed-anonymous", "listed-index", "listed-protected", "asked-child", "asked-last page"),
    ),
    "tests/codegen/runtime/test_surroundings.py::test_two_hundred_cases": (
        *("1 thread-same-plainly", "2 threads-other-oddly"),
    ),
    "tests/codegen/schedule/guards/test_guards.py::test_other_input": ("index", "same", "gate"),
    "tests/codegen/schedule/guards/test_guards.py::test_other_input_inspected_anew": (
        *("shorter", "alias", "gate", "row", "same"),
    ),
    "tests/codegen/schedule/guards/test_recipes.py::test_counts_in_structures": ("int", "unsigned char"),
    "tests/codegen/schedule/guards/test_relevance.py::test_only_what_the_order_depends_on_is_compared": (
        *("log-as traced", "log-fewer gathered", "behind-as traced", "behind-fewer values scaled"),
    ),
    "tests/codegen/sparse/test_tiled.py::test_one_value_for_all_has_the_same_bits": ("1.0-f4", "inf-c16", "-0.3-f8"),
    "tests/codegen/test_degrees.py::test_the_program_prints_what_it_prints": ("2",),
    "tests/codegen/test_early_exits.py::test_other_input": ("same", "checked", "first", "late"),
    "tests/codegen/test_equivalence.py::test_replays_agree_with_the_program": (
        *("edges-two orders", "early-two orders", "nodes-two orders"),
    ),
    "tests/codegen/test_equivalence.py::test_woven_programs_print_what_they_printed": (
        *("rows-3", "edges-3", "nodes-3", "early-3", "checks-3"),
    ),
    "tests/codegen/test_layout.py::test_members_on_a_callers_stack": (
        *("for (int v = 0; v < 60; v++) p->x[v] += 0.5 * y[v];-True",),
    ),
    "tests/codegen/test_lookups.py::test_other_input_is_looked_up_by_the_same_code": ("70",),
    "tests/codegen/test_nests.py::test_exits_as_often_as_they_like": ("2", "8", "1000"),
    "tests/codegen/test_row_lengths.py::test_a_loop_reads_the_table_both_ways": ("True",),
    "tests/codegen/test_row_sizes.py::test_rows_that_are_counted_along": ("counted", "of the other table"),
    "tests/codegen/test_searches.py::test_any_order_leaves_what_the_program_left": ("gauss-False", "descents-True"),
    "tests/codegen/test_searches.py::test_kernels_leave_what_the_loop_left": ("gauss-True", "descents-False"),
    "tests/codegen/test_searches.py::test_their_iterations_are_independent": ("gauss", "descents"),
    "tests/codegen/test_searches.py::test_woven_programs_print_what_they_printed": ("gauss-3", "descents-3"),
    "tests/codegen/test_tiles.py::test_the_program_prints_what_it_prints": ("1-0", "3-2"),
    "tests/codegen/test_written_rows.py::test_rows_are_looked_up_again_where_something_changed": ("same", "realloc"),
    "tests/codegen/test_written_rows.py::test_rows_go_back_as_far_as_they_are_touched": ("another", "untouched"),
    "tests/codegen/tuning/test_choose_scope.py::test_loops_that_never_ran_are_exits_rather_than_look_up": (
        *("x[7] < limit-1-False", "x[7] >= limit-0-True"),
    ),
    "tests/codegen/tuning/test_short_loops.py::test_longer_ones_are_not_looked_at": ("FEWEST-30000",),
    "tests/fuzz/test_generator.py::test_prints_one_line_of_finite_numbers_for_each_kernel": ("1",),
    "tests/ir/gpu/test_memory_model.py::test_counts_equal_the_slow_model": ("False-unified L1", "True-texture cache"),
    "tests/ir/machine/test_detect.py::test_garbage_in_every_file": ("", "-1"),
    "tests/mapping/simulation/test_caches.py::test_one_core_pays_what_the_cache_simulator_says": (
        "python-model-200-4000",
    ),
    "tests/mapping/simulation/test_simulate.py::test_the_reference_agrees": ("python-0", "python-3"),
    "tests/partition/balance/test_keep_capacities.py::test_every_method_keeps_them": (
        *("rcm", "metis", "multilevel", "kmeans", "parcubed-det", "chunks", "compnet"),
    ),
    "tests/partition/balance/test_least_imbalance.py::test_balance_of_few_data": ("hilbert", "kmeans", "compnet"),
    "tests/partition/balance/test_least_imbalance.py::test_balance_of_few_jobs": ("multilevel", "kmeans", "expansion"),
    "tests/partition/balance/test_least_imbalance.py::test_balance_of_many": (
        *("metis-0.0", "multilevel-0.6", "kmeans-1.2", "expansion-0.0", "parcubed-det-0.6", "geographer-r-1.2"),
    ),
    "tests/partition/edge_cut/test_split_connect.py::test_threads_change_nothing": ("expansion-1",),
    "tests/partition/external/test_kaminpar_kahip_mtkahypar.py::test_spac_around_any_vertex_partitioner": (
        *("spac-metis", "spac-split-mtkahypar"),
    ),
    "tests/partition/inputs/test_machine_arguments.py::"
    "test_clusters_targets_capacities_and_hierarchy_come_from_the_machine": ("hkmeans", "metis"),
    "tests/partition/multilevel/test_driver.py::test_extremes": ("2", "7"),
    "tests/partition/refinement/test_km1.py::test_refine_after_any_method": ("random", "metis"),
    "tests/partition/test_api.py::test_metis_partitions_keep_the_balance": ("metis", "spac"),
    "tests/partition/test_data_methods.py::test_any_graph": (
        *("hilbert", "rcb", "kmeans", "compnet", "parcubed-det", "gpart"),
    ),
    "tests/partition/test_data_methods.py::test_cuts_stay_near_those_of_metis": ("hilbert-1.5", "geographer-r-1.0"),
    "tests/partition/test_data_methods.py::test_jobs_follow_their_data": ("hilbert", "kmeans"),
    "tests/partition/test_data_methods.py::test_the_balance_is_kept_for_even_and_uneven_targets": (
        *("kmeans", "parcubed-det"),
    ),
    "tests/partition/test_data_methods.py::test_threads_change_nothing": ("2-kmeans", "3-parcubed-det"),
    "tests/partition/test_properties.py::test_every_method_with_a_process_of_its_own": (
        *("metis", "spac", "wvp-random", "kahip"),
    ),
    "tests/partition/test_weights.py::test_dear_copies_are_made_seldom": ("chunks", "metis", "multilevel"),
    "tests/partition/test_weights.py::test_dear_edges_are_cut_seldom": ("metis", "parcubed-det", "mtkahypar"),
    "tests/partition/test_weights.py::test_mtkahypar_pays_what_it_pays_when_called_directly": ("graph",),
    "tests/partition/test_weights.py::test_peers_cut_what_they_cut_when_called_directly": (
        *("kahip-METIS 11", "kaminpar-scipy"),
    ),
    "tests/partition/test_weights.py::test_the_unit_of_weights_does_not_matter": ("7e-09",),
    "tests/partition/test_weights.py::test_what_is_not_weighed_is_refused_by_name": (
        *("expansion", "parcubed", "wvp-greedy", "powergraph"),
    ),
    "tests/samples/test_optimize.py::test_its_results_are_those_of_the_program": ("mesh_flux-1", "mesh_flux-2"),
    "tests/samples/test_optimize.py::test_kernels_are_emitted_and_assemble": ("mesh_flux",),
    "tests/samples/test_optimize.py::test_the_irregular_loop_is_rescheduled": ("mesh_flux",),
    "tests/samples/test_optimize.py::test_the_schedule_is_used": ("mesh_flux",),
    "tests/samples/test_optimize.py::test_what_offers_nothing_is_left_alone": ("dense_stencil",),
    "tests/samples/test_spac.py::test_the_remedy_computes_the_same": ("cfd_edges", "spmv_rows"),
    "tests/support/process/test_hostile.py::test_nothing_outlives_tracecut": (
        *("SIGKILL-subreaper", "SIGTERM-namespace", "SIGTERM-handled-subreaper"),
    ),
    "tests/tracecut/cli/test_every_method.py::test_every_method": ("kaminpar",),
    "tests/tracecut/cli/test_odd_words.py::test_any_command": ("optimize", "run"),
    "tests/tracecut/cli/test_odd_words.py::test_behind_a_source": ("optimize", "trace"),
    "tests/tracecut/pipeline/output/test_publishing.py::test_only_marked_folders_are_swept": (
        ".tracecut-next/mine.txt",
    ),
    "tests/tracecut/pipeline/stages/test_tune.py::test_a_loop_whose_data_lie_well_need_not_be_inspected": (
        "argv0-True",
    ),
    "tests/tracecut/pipeline/test_optional_parts.py::test_the_job_goes_on": ("reuse distances, charts",),
    "tests/tracecut/test_bad_input.py::test_is_a_clear_error": ("does not compile", "crashes", "loops for ever"),
    "tests/tracecut/test_bad_input.py::test_is_no_usable_ir": ("ll-truncated",),
    "tests/tracecut/test_bad_input.py::test_is_refused_with_the_reason": ("endless loop left by exit",),
    "tests/tracecut/test_interrupted.py::test_leaves_nothing": ("compiling-15", "native run-9", "inspection-2"),
    "tests/tracer/depgraph/test_edges.py::test_the_graph_of_the_interpreters_stream": _TRACED,
    "tests/tracer/depgraph/test_edges.py::test_the_graph_of_the_traced_run": _TRACED,
    "tests/tracer/depgraph/test_edges.py::test_the_program_shows_what_it_is_named_after": _TRACED,
    "tests/tracer/depgraph/test_random_edges.py::test_random_kernels": ("701-O1", "705-seed"),
    "tests/tracer/depgraph/walk/test_templates.py::test_ids_may_widen_on_the_way": ("1",),
    "tests/tracer/depgraph/walk/test_templates.py::test_templates_and_steps_give_the_same_graph": (
        *("model-O1", "unit-seed", "times-O1"),
    ),
    "tests/tracer/recorded/test_wrapper.py::test_shared_libraries_that_are_named_by_their_file_stay_libraries": (
        "libtotal.so.1.2",
    ),
    "tests/tracer/toolchain/test_cxx.py::test_traced_cxx_programs_do_what_they_say": (
        *("throwing-O1", "lifetimes-seed", "reading-O1"),
    ),
    "tests/tracer/toolchain/test_exchanged_allocations.py::test_vectors": ("as long", "swapped", "moved", "thrown"),
    "tests/tracer/toolchain/test_numba.py::test_a_kernel_computes_what_numba_computes": ("spmv-O1", "mixed-seed"),
    "tests/tracer/trace/events/test_interposed_calls.py::test_every_call_from_the_libraries_is_recorded": (
        *("new-O1", "malloc-O1", "memcpy-O1", "malloc new delete-seed"),
    ),
    "tests/tracer/trace/record/test_record.py::test_a_program_that_has_to_be_stopped": ("stops itself", "fork storm"),
    "tests/tracer/trace/test_compact.py::test_loops": (
        *("forwards", "gather", "rows", "chase", "until", "nested guards"),
    ),
    "tests/tracer/trace/test_compact.py::test_random_kernels": ("911-O1",),
    "tests/tracer/trace/instrument/test_region_switch.py::test_only_the_loop_and_what_it_calls": ("O1",),
    "tests/tracer/trace/test_control.py::test_one_stream_a_thread": ("O1",),
    "tests/tracer/trace/test_random.py::test_random_kernels": ("901-O1",),
    "tests/tracer/legality/test_conflicts.py::test_every_pair_says_the_same": ("compiled",),
    "tests/tracer/trace/compact/test_loop_runs.py::test_runs_are_stored": ("compiled",),
    "tests/tracer/trace/compact/test_loop_runs.py::test_what_is_compact_is_written_out": ("compiled",),
    "tests/tracer/trace/file/test_trace_file.py::test_decoding_gives_the_same_words": ("compiled",),
    "tests/tracer/trace/file/test_trace_file.py::test_decoding_survives_any_bytes": ("compiled",),
    "tests/tracer/trace/file/test_trace_file.py::test_every_cut_is_noticed_and_leaves_whole_chunks": ("compiled",),
    "tests/tracer/trace/file/test_trace_file.py::test_every_flipped_bit_is_noticed": ("compiled",),
}
