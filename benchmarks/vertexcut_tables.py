"""Tables 5 to 9 of the vertex-cut paper: what `vertexcut.py` puts beside its own numbers."""

METHODS = ("compnet", "metis", "powergraph", "w-pg", "wb-pg", "libra", "w-libra", "wb-libra")
# Table 5: edge weight imbalance, of the six vertex cuts.
IMBALANCE = {
    "dijkstra": (1.00227, 1.00092, 1.00007, 1.02136, 1.00106, 1.0001),
    "fft": (1.00586, 1.00831, 1.00075, 1.0503, 1.004, 1.00057),
    "kmeans": (1.00177, 1.00469, 1.00042, 1.04566, 1.0018, 1.00035),
    "mandelbrot": (1.0073, 1.00233, 1.00008, 1.00749, 1.00171, 1.00014),
    "md": (1.00015, 1.00007, 1.00003, 1.00791, 1.00008, 1.00003),
    "nn": (1.00187, 1.00235, 1.00028, 1.03441, 1.00106, 1.00019),
    "neuron": (1.0026, 1.00487, 1.00081, 1.05738, 1.00236, 1.00045),
    "cnn": (1.0004, 1.00035, 1.0001, 1.00956, 1.00027, 1.00008),
    "strassen8": (1.01074, 1.01307, 1.00177, 1.05036, 1.00787, 1.00123),
    "strassen16": (1.00338, 1.00352, 1.00029, 1.04206, 1.0017, 1.00028),
}
# Table 6: execution time with 8 clusters; the unit is not stated.
TIME_8 = {
    "dijkstra": (317.27, 332.48, 346.15, 263.75, 260.91, 253.86, 262.51, 242.26),
    "fft": (279.6, 288.22, 209.27, 253.71, 230.02, 248.42, 239.33, 291.53),
    "kmeans": (244.87, 261.38, 279.53, 206.25, 195.53, 201.54, 188.25, 178.58),
    "mandelbrot": (341.35, 373.28, 265.15, 289.74, 257.12, 277.31, 256.49, 245.82),
    "md": (2568.72, 2723.71, 2822.47, 2313.9, 1821.68, 2178.41, 1824.95, 1642.18),
    "nn": (351.23, 376.93, 354.32, 311.74, 256.41, 297.59, 278.24, 253.89),
    "neuron": (214.75, 242.68, 213.95, 187.23, 163.63, 174.54, 157.69, 131.4),
    "cnn": (1568.59, 1736.37, 1454.88, 1425.63, 1221.53, 1358.61, 1315.78, 1175.8),
    "strassen8": (142.41, 155.39, 131.24, 121.37, 104.99, 112.62, 111.23, 96.24),
    "strassen16": (326.75, 351.26, 323.5, 304.21, 274.63, 285.44, 264.58, 248.25),
}
# Table 7: the same with 1024 clusters.
TIME_1024 = {
    "dijkstra": (31.08, 46.48, 33.5, 27.79, 29.27, 29.58, 26.43, 23.4),
    "fft": (24.92, 32.4, 25.08, 22.64, 23.96, 23.2, 20.31, 18.59),
    "kmeans": (16.77, 37.23, 18.26, 16.37, 12.54, 15.3, 13.92, 11.26),
    "mandelbrot": (23.48, 41.37, 15.8, 19.81, 14.52, 17.47, 14.43, 12.6),
    "md": (228.43, 245.61, 233.02, 204.53, 174.23, 192.23, 169.18, 155.71),
    "nn": (33.44, 52.36, 34.92, 29.35, 25.48, 29.84, 27.9, 23.22),
    "neuron": (21.3, 48.32, 23.73, 20.93, 21.62, 19.19, 17.97, 16.11),
    "cnn": (157.5, 170.92, 148.48, 145.87, 110.67, 132.22, 119.43, 105.29),
    "strassen8": (12.51, 15.03, 14.57, 13.55, 12.39, 12.17, 11.11, 10.31),
    "strassen16": (31.81, 38.14, 29.23, 29.62, 27.36, 27.22, 25.25, 23.42),
}
# Table 8: data communication with 8 clusters, in per cent of CompNet's.
BYTES_8 = {
    "dijkstra": (100, 142, 60, 46, 54, 50, 54, 57),
    "fft": (100, 156, 71, 53, 65, 56, 62, 65),
    "kmeans": (100, 135, 59, 41, 52, 46, 52, 55),
    "mandelbrot": (100, 158, 48, 31, 41, 36, 42, 45),
    "md": (100, 160, 47, 33, 39, 36, 40, 44),
    "nn": (100, 169, 63, 43, 55, 48, 53, 57),
    "neuron": (100, 137, 59, 42, 53, 47, 52, 56),
    "cnn": (100, 192, 64, 50, 56, 53, 55, 58),
    "strassen8": (100, 171, 55, 43, 50, 46, 48, 52),
    "strassen16": (100, 193, 54, 42, 46, 45, 47, 50),
}
# Table 9: the same with 1024 clusters.
BYTES_1024 = {
    "dijkstra": (100, 142, 53, 34, 47, 39, 46, 47),
    "fft": (100, 163, 55, 42, 50, 43, 46, 49),
    "kmeans": (100, 132, 47, 31, 42, 32, 39, 43),
    "mandelbrot": (100, 117, 33, 18, 28, 19, 23, 27),
    "md": (100, 156, 41, 25, 35, 29, 31, 35),
    "nn": (100, 176, 52, 35, 44, 39, 45, 47),
    "neuron": (100, 148, 38, 27, 30, 31, 33, 35),
    "cnn": (100, 183, 63, 44, 55, 49, 55, 57),
    "strassen8": (100, 145, 52, 35, 44, 38, 42, 46),
    "strassen16": (100, 166, 53, 38, 48, 41, 45, 48),
}
TABLES: dict[tuple[str, int], dict[str, tuple[float, ...]]] = {
    ("time", 8): TIME_8,
    ("time", 1024): TIME_1024,
    ("bytes", 8): BYTES_8,
    ("bytes", 1024): BYTES_1024,
}
EDGE_CUTS, UNWEIGHTED = METHODS[:2], ("powergraph", "libra")
LESS, MORE = 0.5, 2.0  # stand for "less" and "more" where no number is stated


def stated(k: int) -> bool:
    """Whether the paper has numbers for so many clusters."""
    return ("time", k) in TABLES


def ratio(what: str, program: str, k: int, a: str, b: str) -> float | None:
    """Method b's number over method a's: of the tables, else LESS or MORE where §6.2.3 or §6.2.4 speak of all sizes.

    None where they do not compare the two.
    """
    if stated(k):
        row = TABLES[what, k][program]
        return row[METHODS.index(b)] / row[METHODS.index(a)]
    first, second = (_rank(what, method) for method in (a, b))
    return None if first == second else MORE if second > first else LESS


def _rank(what: str, method: str) -> int:
    """Place of a method in the order of §6.2: the fewer the better."""
    if method in EDGE_CUTS:
        return 2
    return 1 if what == "time" and method in UNWEIGHTED else 0
