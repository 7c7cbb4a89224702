"""From the text of a kernel to that of a host module: accesses, points, the step of a thread, loops over threads."""
