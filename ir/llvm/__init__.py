"""Textual LLVM IR: parsing, control flow, types, source lines."""

from .data_layout import TypeTable, int_bits
from .instruction import Instruction
from .module import Block, Function, Module, parse_module
from .operands import Operand

__all__ = ["Block", "Function", "Instruction", "Module", "Operand", "TypeTable", "int_bits", "parse_module"]
