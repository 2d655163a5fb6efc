"""The best alignment with fertility, found by dual decomposition and a search with bounds (Quirk 2013)."""
