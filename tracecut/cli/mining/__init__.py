"""The commands `pagerank`, `hits`, `rwr` and `cg`, and where they compute."""
