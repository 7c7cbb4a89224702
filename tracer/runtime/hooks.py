"""What hooks share with the program. Light: `tracecut run` starts with it."""

from __future__ import annotations

import ctypes
import hashlib

WORDS = 2 + 256  # of a secret: a point and a block, as in fingerprint.c
ENTER = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64), ctypes.c_int32)
LEAVE = ctypes.CFUNCTYPE(None, ctypes.c_int32)
PAUSE = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)
PROBE = ctypes.CFUNCTYPE(None, ctypes.c_int32)
MISMATCH = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)
TRAPS = "floating-point exceptions trap in the program, and which comes first is up to the order"


def mismatch(region: int, slot: int) -> str:
    """What the program found different when a region was about to run in a layout."""
    return TRAPS if slot < 0 else f"slot {slot} of region {region} differs from what it was on entering"


class RegionState(ctypes.Structure):
    """Counters of a region: calls of the rescheduled loop and of the original, and their nanoseconds."""

    _fields_ = [
        (name, ctypes.c_int64) for name in ("calls", "declined", "nanoseconds", "original_nanoseconds", "started")
    ]


class Tables:
    """Tables that the program reads at its hooks.

    By region: counters, plans in force, calls until it is probed. By scope: whether its layout is in force, and how
    often it is entered now, one in another.
    """

    def __init__(self, library: ctypes.CDLL, count: int, scopes: int = 1) -> None:
        self.library = library
        self.in_force = (ctypes.c_int32 * max(1, scopes))()
        self.depth = (ctypes.c_int32 * max(1, scopes)).in_dll(library, "tc_depth")
        self.set("tc_in_force", ctypes.addressof(self.in_force))
        self.states = (RegionState * max(1, count))()
        self.plans = (ctypes.c_void_p * max(1, count))()
        self.probes = (ctypes.c_int32 * max(1, count))()
        self.set("tc_regions", ctypes.addressof(self.states))
        self.set("tc_plans", ctypes.addressof(self.plans))
        self.set("tc_probe", ctypes.addressof(self.probes))

    def set(self, name: str, value: int) -> None:
        """Store an address in a variable of the run-time support."""
        ctypes.c_void_p.in_dll(self.library, name).value = value


def expanded(seed: bytes, words: int = WORDS) -> bytes:
    """The words of a secret, 8 bytes each."""
    return hashlib.shake_256(seed).digest(8 * words)
