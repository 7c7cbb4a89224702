"""The Python functions: `optimize`, `trace`, `dependence_graph`, `loop_summaries`. Imports `pipeline`."""
