"""Loop nests as expressions: made by `tracer.loops`, read by everything behind it. Imports `ir.llvm`."""
