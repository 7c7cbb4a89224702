"""The instrumented run of `optimize`: loop counts, and the memory of hot loops. Imports `toolchain`, `runtime`,
`loops`.
"""
