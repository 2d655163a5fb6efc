"""The lexicon factor: which word yields which, by probabilities or by counts, and its priors."""
