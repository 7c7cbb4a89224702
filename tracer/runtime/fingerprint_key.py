"""What fingerprints are keyed with: random, and unknown to whoever makes the data that they are taken of."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cached_property

from .hooks import WORDS, expanded

SEED_BYTES = 32


@dataclass(frozen=True)
class Secret:
    """A key of fingerprints. Those of a schedule file are kept in it; all others last as long as the process.

    `seed`: 32 random bytes.
    """

    seed: bytes

    def __post_init__(self) -> None:
        if len(self.seed) != SEED_BYTES:
            raise ValueError(f"a secret has {SEED_BYTES} bytes, not {len(self.seed)}")

    @classmethod
    def draw(cls) -> Secret:
        """A new one, from the system's random numbers."""
        return cls(os.urandom(SEED_BYTES))

    @cached_property
    def words(self) -> ctypes.Array[ctypes.c_uint64]:
        """What the C code takes."""
        return (ctypes.c_uint64 * WORDS).from_buffer_copy(expanded(self.seed))
