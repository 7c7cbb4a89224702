"""Textual LLVM IR: parsing, control flow, types, source lines."""

from .instruction import Instruction
from .module import Block, Function, Module, parse_module
from .operands import Operand
from .types import TypeTable, int_bits

__all__ = ["Block", "Function", "Instruction", "Module", "Operand", "TypeTable", "int_bits", "parse_module"]
