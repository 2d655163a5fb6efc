"""IBM Model 1 and the dense HMM: expectations, best paths, jumps, agreement."""
