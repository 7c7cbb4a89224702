"""Passes over textual LLVM IR. Imports the rest of `ir.llvm`."""
