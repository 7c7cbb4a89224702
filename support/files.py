"""Reading and writing files of artefacts.

Writing is atomic: a temporary file in the same folder is flushed, synced and renamed over the target, so a reader sees
either the old file or the new one. Reading trusts nothing: members, dtypes and sizes are checked against the actual
bytes before anything is allocated, and no object is ever unpickled.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

from .errors import ArgumentError, ArtefactError, OutputError
from .file_kinds import descriptor_of, is_special
from .memory_amounts import size
from .npz_archive import CHECK_BYTES, array_pieces, check_around, write_zip

TYPE_CHECKING = False  # as in `typing`; NumPy takes as long to import as all that a command needs to start a job
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    AnyArray = npt.NDArray[Any]

FORMAT_VERSION = 2
MAX_HEADER = 10_000
MAX_META = 64 << 20
MAX_MEMBERS = 256
MAX_RATIO = 1_000
DEFAULT_LIMIT = 32 << 30

# What zipfile, zlib and NumPy raise on damaged bytes.
READ_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    OSError,
    RuntimeError,
    MemoryError,
    OverflowError,
    struct.error,
)

# The one form in which NumPy writes the header of a plain array. NumPy's own reader evaluates it as Python, with
# warnings and tokenizer errors on damaged ones.
NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([^'\\]*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n",
    re.DOTALL,
)


def write_atomic(path: str | os.PathLike[str], write: Callable[[BinaryIO], None], *, sync: bool = True) -> Path:
    """Write `path` through `write(file)`; the target is replaced only by a complete file.

    A device, a pipe or an open descriptor (`/dev/stdout`) is written directly. Raises OutputError naming the path
    and the free space when anything fails; the old file is then untouched.
    """
    target = Path(path)
    temporary: str | None = None
    try:
        if is_special(target):
            # Writing through a descriptor appends to what it has received before.
            number = descriptor_of(target)
            with open(target if number is None else os.dup(number), "wb") as device:
                write(device)
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with open(handle, "wb") as file:
            write(file)
            file.flush()
            if sync:
                os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, target)
        temporary = None
        if sync:
            _sync_folder(target.parent)
    except OSError as error:
        raise OutputError(
            f"cannot write {target}: {error.strerror or error}{free_space(error, target.parent)}",
            hint="Existing files are unchanged. Choose another file (-o), or free some space.",
        ) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    return target


def write_text(path: str | os.PathLike[str], text: str, *, sync: bool = True) -> Path:
    """Write UTF-8 text atomically."""
    return write_atomic(path, lambda file: _write_all(file, text.encode()), sync=sync)


def write_json(path: str | os.PathLike[str], value: object) -> Path:
    """Write JSON atomically; NaN and infinities are refused."""
    return write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_arrays(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, AnyArray],
    meta: Mapping[str, Any],
    *,
    sync: bool = True,
    bare: bool = False,
) -> Path:
    """Write an artefact: an uncompressed npz of plain arrays with one JSON member `meta.json`.

    The bytes depend on the content alone (fixed time stamps, sorted names), and each of them is covered by a check
    (`archive`). A `bare` file has no members but the arrays: its header is the archive's comment.
    """
    header = {"format": FORMAT_VERSION, "kind": kind, **meta}

    text = json.dumps(header, sort_keys=True, allow_nan=False).encode()
    members = {f"{name}.npy": array_pieces(array) for name, array in arrays.items()}
    if not bare:
        members["meta.json"] = [text]
    return write_atomic(path, lambda file: write_zip(file, members, text if bare else b""), sync=sync)


@contextlib.contextmanager
def held(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """What is made inside of the arrays and the header of a file raises ArtefactError where these are not those."""
    try:
        yield
    except ArgumentError as error:
        raise ArtefactError(f"{path} holds no {what}: {error.message}") from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ArtefactError(f"{path} holds no {what}: {type(error).__name__}: {error}") from error


def read_arrays(
    path: str | os.PathLike[str],
    kind: str,
    members: Mapping[str, str],
    *,
    limit: int = DEFAULT_LIMIT,
    also: Mapping[str, str] | None = None,
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Read an artefact written by `write_arrays`.

    `members` maps each expected array name to its dtype (`"int32"`); a name that ends in `?` is optional, and a `*`
    in it stands for any text. `also` gives some of them a second dtype that they may have instead.
    Raises ArtefactError on anything unexpected; memory is bounded by the bytes in the file and by `limit`.
    """
    import numpy as np

    source = Path(path)
    expected = {name.rstrip("?"): np.dtype(dtype) for name, dtype in members.items()}
    other = {name: np.dtype(dtype) for name, dtype in (also or members).items()}
    needed = {name for name in members if not name.endswith("?")}
    try:
        with open(source, "rb") as file, zipfile.ZipFile(file) as archive:
            infos = _checked_members(source, archive, limit)
            meta = _read_meta(source, archive, infos, kind)
            arrays = {}
            for name, info in infos.items():
                if name == "meta.json":
                    continue
                key = name.removesuffix(".npy")
                pattern = next((known for known in expected if fnmatchcase(key, known)), None)
                if not name.endswith(".npy") or pattern is None:
                    raise _damaged(source, f"has an unexpected member {name!r}")
                arrays[key] = _read_member(source, archive, info, expected[pattern], other.get(pattern))
            wrong = check_around(file, infos.values(), source.stat().st_size)
    except (ArtefactError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except READ_ERRORS as error:
        raise _damaged(source, f"cannot be read: {error or type(error).__name__}") from error
    if wrong:
        raise _damaged(source, wrong)
    missing = sorted(needed - arrays.keys())
    if missing:
        raise _damaged(source, f"lacks the member {missing[0]!r}")
    return arrays, meta


def load_json(path: str | os.PathLike[str], *, limit: int = MAX_META) -> Any:
    """Read bounded, strict JSON: no NaN, no infinity, no duplicate keys, no deep nesting."""
    source = Path(path)
    if source.stat().st_size > limit:
        raise _damaged(source, f"is larger than {size(limit)}")
    return parse_json(source, source.read_bytes())


def parse_json(source: Path, data: bytes) -> Any:
    """Strict JSON from bytes; `source` only names the file in errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise ValueError(f"key {key!r} appears twice")
            result[key] = value
        return result

    def finite(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"{text} is not a JSON number, or too large for one")
        return value

    try:
        return json.loads(data, object_pairs_hook=unique, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise _damaged(source, f"is not valid JSON: {error}") from error


def holds(path: str | os.PathLike[str], kind: str) -> bool:
    """Whether a file claims to be an artefact of a kind. Reads only the header; the loader checks everything."""
    source = Path(path)
    try:
        with open(source, "rb") as file, zipfile.ZipFile(file) as archive:
            return bool(_read_meta(source, archive, _checked_members(source, archive, DEFAULT_LIMIT), kind))
    except (ArtefactError, OSError, *READ_ERRORS):
        return False


def _checked_members(source: Path, archive: zipfile.ZipFile, limit: int) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise _damaged(source, f"has {len(infos)} members, more than {MAX_MEMBERS}")
    names: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for info in infos:
        if info.filename in names:
            raise _damaged(source, f"has two members named {info.filename!r}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _damaged(source, f"member {info.filename!r} uses an unknown compression")
        if info.file_size > max(1, info.compress_size) * MAX_RATIO:
            raise _damaged(source, f"member {info.filename!r} decompresses to more than {MAX_RATIO} times")
        names[info.filename] = info
        total += info.file_size
    if sum(info.compress_size for info in infos) > source.stat().st_size:
        raise _damaged(source, "declares more bytes than it has")
    if total > limit:
        raise ArtefactError(
            f"{source} holds {size(total)}, more than the limit of {size(limit)}",
            hint="Pass a larger limit to load it.",
        )
    return names


def _read_meta(
    source: Path, archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo], kind: str
) -> dict[str, Any]:
    if "meta.json" in infos and infos["meta.json"].file_size <= MAX_META:
        meta = parse_json(source, archive.read(infos["meta.json"]))
    elif "meta.json" not in infos and len(archive.comment) > CHECK_BYTES:
        meta = parse_json(source, archive.comment[:-CHECK_BYTES])
    else:
        raise _damaged(source, "has no usable header")
    if not isinstance(meta, dict) or meta.get("format") != FORMAT_VERSION:
        version = meta.get("format") if isinstance(meta, dict) else meta
        raise ArtefactError(
            f"{source} has format {version!r}, this tracecut reads {FORMAT_VERSION}",
            hint="Create it again with this version.",
        )
    if meta.get("kind") != kind:
        raise ArtefactError(f"{source} holds a {meta.get('kind')!r}, a {kind!r} was expected")
    return meta


def _read_member(
    source: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, dtype: np.dtype[Any], other: np.dtype[Any] | None
) -> AnyArray:
    import numpy as np

    with archive.open(info) as raw:
        stream = io.BufferedReader(raw)  # type: ignore[type-var]
        header = NPY_HEADER.fullmatch(_read_header(stream))
        if header is None:
            raise _damaged(source, f"member {info.filename!r} has no npy header of version 1.0")
        found, fortran, extents = (group.decode() for group in header.groups())
        if other is not None and found == other.str:
            dtype = other
        if found != dtype.str or fortran == "True":
            raise _damaged(source, f"member {info.filename!r} is {found!r}, expected {dtype.str!r} in C order")
        shape = tuple(int(extent) for extent in extents.replace(",", " ").split())
        count = math.prod(shape)
        nbytes = count * dtype.itemsize
        if stream.tell() + nbytes != info.file_size:
            raise _damaged(source, f"member {info.filename!r} declares shape {shape} but holds other bytes")
        array = np.empty(count, dtype)
        view = memoryview(array.view(np.uint8)) if nbytes else memoryview(b"")  # type: ignore[arg-type]
        done = 0
        while done < nbytes:
            got = stream.readinto(view[done : done + (1 << 24)])
            if not got:
                raise _damaged(source, f"member {info.filename!r} is truncated")
            done += got
        if stream.read(1):
            raise _damaged(source, f"member {info.filename!r} has bytes after its end")
        return array.reshape(shape)


def _read_header(stream: BinaryIO) -> bytes:
    start = stream.read(10)
    return start + stream.read(min(int.from_bytes(start[8:], "little"), MAX_HEADER))


def _write_all(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _damaged(source: Path, what: str) -> ArtefactError:
    return ArtefactError(f"{source} {what}", hint="The file is damaged or not from tracecut; create it again.")


def free_space(error: OSError, folder: Path) -> str:
    """What is left in a folder, in brackets, for the message of an error that a lack of it causes; else nothing."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ""
    try:
        state = os.statvfs(folder)
    except OSError:
        return ""
    return f" ({size(state.f_bavail * state.f_frsize)} free)"


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(handle)


def _umask() -> int:
    """The process's umask, read without changing it (changing it would race with other threads)."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
