"""The stages of `tracecut optimize` in their order: name (files, manifest, help) and progress line."""

STAGES = {
    "compile": "compiling",
    "original": "running the original",
    "capture": "running the instrumented program",
    "tune": "inspecting and tuning the hot loops",
    "weave": "building the rescheduled program",
    "accept": "running and comparing the result",
    "gpu": "choosing GPU kernels by the memory model",
    "publish": "writing the results",
}
