"""Tokens and word types: numbering, co-occurrence, search."""
