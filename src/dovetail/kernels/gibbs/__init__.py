"""Gibbs sampling of sentences under a fertility model (Zhao and Gildea 2010)."""
