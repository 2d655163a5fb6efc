"""Posteriors projected onto constraints (Graça et al. 2010)."""
