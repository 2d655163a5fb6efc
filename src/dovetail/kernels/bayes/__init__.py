"""Collapsed Gibbs sampling: sweeps over a text whose counts change with every link."""
