"""Descriptions of GPUs, a TOML file each; `ir/gpu/description.py` reads them."""
