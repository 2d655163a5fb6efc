"""Entries of word pairs: from slots to cells and back, and what words' forms say of them."""
