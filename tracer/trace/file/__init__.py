"""The trace file: blocks with checksums, codecs. Imports `tables`."""
