"""Kernels of the laboratory: the papers' own slower methods."""
