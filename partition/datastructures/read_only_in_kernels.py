"""Read-only views within kernels, as `typed_views` makes them outside.

To Numba a read-only array is of another type than a writable one: a kernel that passes the arrays it has just made to
one that takes read-only inputs elsewhere would have that compiled a second time.
"""

from __future__ import annotations

from typing import Any

from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic


def _read_only(typing: Any, array: Any) -> Any:
    view = array.copy(readonly=True)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, view, arguments[0])

    return view(array), code


read_only: Any = intrinsic(_read_only)
