"""Kinds of dependences between dynamic instructions."""

from __future__ import annotations

REGISTER, MEMORY, ANTI, OUTPUT, CONTROL = 1, 2, 3, 4, 5
KINDS = {REGISTER: "register", MEMORY: "memory", ANTI: "anti", OUTPUT: "output", CONTROL: "control"}
