"""The learned decoder: candidate cells, what is known of each, and boosted trees over that."""
