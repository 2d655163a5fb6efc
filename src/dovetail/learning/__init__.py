"""What a few gold pairs teach: a learned decoder on top of a trained model, and which pairs to annotate."""
