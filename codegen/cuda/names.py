"""Names of C for values and blocks of LLVM."""

from __future__ import annotations

import re

_TAKEN = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const const_cast
    constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false float
    for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void
    volatile wchar_t while xor xor_eq blockDim blockIdx gridDim threadIdx warpSize min max abs memcpy memset
    memmove main concept requires char8_t char16_t char32_t consteval constinit co_await co_return co_yield
    restrict linux unix assert errno NULL NAN INFINITY signbit isnan isinf isfinite j0 j1 jn y0 y1 yn clock time
    index exit printf""".split()
)


class Names:
    """Gives each name of LLVM one of C that nothing else has. `taken`: words that are not to be had."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._used = set(_TAKEN | taken)
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The name of a value (`%tc.pre0.i`) or a block."""
        if name not in self._known:
            self._known[name] = self.fresh(name)
        return self._known[name]

    def fresh(self, wish: str) -> str:
        """A new name that looks like `wish`."""
        plain = re.sub(r"\W+", "_", wish.strip('%@"').replace("tc.", "", 1), flags=re.ASCII).strip("_")
        plain = f"v{plain}" if not plain or plain[0].isdigit() else plain
        plain = plain if not plain.startswith("nv_") else f"v{plain}"
        found, number = plain, 1
        while found in self._used:
            number += 1
            found = f"{plain}_{number}"
        self._used.add(found)
        return found
