"""The ten programs of the vertex-cut paper, each beside a reference that shares nothing with it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import emit_object

from ..waiting import HUNG

FOLDER = Path(__file__).resolve().parents[2] / "samples" / "vertexcut"


def stream() -> Iterator[int]:
    """The generator of all ten programs: numbers below 2²⁴."""
    state = 1
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield state >> 8


def units(count: int, source: Iterator[int]) -> np.ndarray:
    """Numbers from 0 to 1."""
    return np.array(list(islice(source, count)), np.float64) / 2**24


def dijkstra() -> list[float]:
    weight = np.array([value % 100 + 1 for value in islice(stream(), 2500)]).reshape(50, 50)
    graph = nx.from_numpy_array(weight, create_using=nx.DiGraph)
    return [sum(nx.single_source_bellman_ford_path_length(graph, 0).values())]


def fft() -> list[float]:
    values = units(2048, stream()) - 0.5
    power = np.abs(np.fft.fft(values[::2] + 1j * values[1::2])) ** 2
    return [power @ np.arange(1024) / power.sum()]


def kmeans() -> list[float]:
    number = np.arange(128)
    points = units(256, stream()).reshape(128, 2) + np.column_stack((number & 1, number >> 1 & 1))
    centres, before = points[:4], None
    for _ in range(10):
        nearest = np.argmin(((points[:, None] - centres[None]) ** 2).sum(2), axis=1)
        if before is not None and (nearest == before).all():
            break
        before = nearest
        centres = np.array([points[nearest == cluster].mean(0) for cluster in range(4)])
    return [float((np.arange(1, 5) * (centres @ [1, 2])).sum())]


def mandelbrot() -> list[float]:
    values = units(8184, stream()).reshape(4092, 2)
    start = (-2 + 2.5 * values[:, 0]) + 1.125j * values[:, 1]
    z, inside = start.copy(), np.ones(4092, bool)
    for _ in range(4):
        z = np.where(inside, z * z + start, 0)
        inside &= np.abs(z) <= 2
    return [float((~inside).sum()), 5.625 * inside.sum() / 4092]


def md() -> list[float]:
    number = np.arange(512)
    grid = np.column_stack((number % 8, number // 8 % 8, number // 64))
    position = 1.2 * grid + 0.1 * (units(1536, stream()).reshape(512, 3) - 0.5)
    apart = position[:, None] - position[None]
    r2 = (apart**2).sum(2)
    near = (r2 > 0) & (r2 <= 4)
    s3 = np.divide(1, r2, out=np.zeros_like(r2), where=near) ** 3
    size = np.divide(24 * s3 * (2 * s3 - 1), r2, out=np.zeros_like(r2), where=near)
    force = (size[:, :, None] * apart).sum(1)
    return [float(2 * (s3 * (s3 - 1)).sum()), float(0.5e-6 * (force**2).sum())]


def dense(rows: int, columns: int, source: Iterator[int]) -> tuple[np.ndarray, np.ndarray]:
    """Biases and weights, one row after the other, the bias first."""
    table = units(rows * (columns + 1), source).reshape(rows, columns + 1) - 0.5
    return table[:, 0], table[:, 1:]


def nn() -> list[float]:
    source = stream()
    layers = [dense(rows, 32, source) for rows in (32, 32, 32, 10)]
    values = units(32, source) - 0.5
    for bias, weight in layers[:3]:
        values = np.maximum(bias + weight @ values, 0)
    bias, weight = layers[3]
    return [float(np.arange(1, 11) @ (bias + weight @ values))]


def neuron() -> list[float]:
    source = stream()
    values = units(24, source) - 0.5
    bias, weight = dense(64, 24, source)
    return [float(np.arange(1, 65) @ np.maximum(bias + weight @ values, 0))]


def cnn() -> list[float]:
    source = stream()
    shapes = [(18, 18), (4, 3, 3), (8, 4, 3, 3), (10, 72)]
    image, first, second, weight = (units(int(np.prod(shape)), source).reshape(shape) - 0.5 for shape in shapes)

    def pool(planes: np.ndarray) -> np.ndarray:
        count, rows, columns = planes.shape
        return planes.reshape(count, rows // 2, 2, columns // 2, 2).max((2, 4))

    one = pool(np.maximum(np.einsum("rcij,fij->frc", sliding_window_view(image, (3, 3)), first), 0))
    windows = sliding_window_view(one, (3, 3), axis=(1, 2))
    two = pool(np.maximum(np.einsum("grcij,fgij->frc", windows, second), 0))
    return [float(np.arange(1, 11) @ (weight @ two.ravel()))]


def strassen(size: int) -> list[float]:
    values = np.array([value % 10 for value in islice(stream(), 2 * size * size)])
    product = values[::2].reshape(size, size) @ values[1::2].reshape(size, size)
    return [float(np.arange(1, size * size + 1) @ product.ravel())]


REFERENCES = {
    "dijkstra": dijkstra,
    "fft": fft,
    "kmeans": kmeans,
    "mandelbrot": mandelbrot,
    "md": md,
    "nn": nn,
    "neuron": neuron,
    "cnn": cnn,
    "strassen8": lambda: strassen(8),
    "strassen16": lambda: strassen(16),
}


def build(source: Path, folder: Path, *options: str) -> Path:
    """The program as a user would build it."""
    text = to_ir(source, Flags(("-std=c11", "-Wall", "-Wextra", "-Werror", *options)), folder, canonical=False)
    return executable([emit_object(text, optimise=False)], Flags(), folder / source.stem)


def test_the_ten_programs_are_listed() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.c")) == sorted(REFERENCES)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}.c` |" in readme for name in REFERENCES)


@pytest.mark.parametrize("name", REFERENCES)
def test_prints_what_a_reference_computes(name: str, tmp_path: Path) -> None:
    done = subprocess.run([build(FOLDER / f"{name}.c", tmp_path)], capture_output=True, text=True, timeout=HUNG)
    assert done.returncode == 0 and done.stderr == ""
    first, *numbers = done.stdout.split()
    assert first == name
    expected = REFERENCES[name]()
    # What is printed has ten digits, four where the program computes in single precision.
    tolerance = 2e-3 if name in ("nn", "neuron", "cnn") else 2e-9
    if name == "mandelbrot":
        assert numbers == [f"{int(expected[0])}", f"{expected[1]:.6f}"]
    else:
        np.testing.assert_allclose([float(word) for word in numbers], expected, rtol=tolerance)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_wrong_checksum_is_an_error(name: str, tmp_path: Path) -> None:
    for header in FOLDER.glob("*.h"):
        (tmp_path / header.name).write_text(header.read_text(encoding="ascii"), encoding="ascii")
    text = (FOLDER / f"{name}.c").read_text(encoding="ascii")
    changed, count = re.subn(r"^#define EXPECTED -?[\d.]", "#define EXPECTED 7", text, flags=re.MULTILINE)
    assert count == 1
    source = tmp_path / f"{name}.c"
    source.write_text(changed, encoding="ascii")
    done = subprocess.run([build(source, tmp_path)], capture_output=True, text=True, timeout=HUNG)
    assert done.returncode == 1 and done.stdout.startswith(f"{name} ")
