"""The traced run of `optimize`: counts loops and keeps the memory of the hot ones. Imports `toolchain`, `runtime`,
`loops`.
"""
