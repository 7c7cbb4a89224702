"""Products in the formats of papers on a GPU: what they ask of its memory, by the memory model, and their tuning."""
