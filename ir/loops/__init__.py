"""Loop nests as expressions: made by `tracer.loops`, read by all later stages. Imports `ir.llvm`."""
