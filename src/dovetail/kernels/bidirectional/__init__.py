"""The best pair of alignments that agree, found by a search with bounds (Chang et al. 2014)."""
