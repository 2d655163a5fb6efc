"""The fertility factor: how many links a word takes."""
