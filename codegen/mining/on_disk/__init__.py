"""Links of graphs on disk: what is counted in a sweep, renumbered rows in temporary files, and products with them."""
