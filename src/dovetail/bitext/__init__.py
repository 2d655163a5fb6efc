"""Text in: readers, normalising, tokenising, vocabularies, the packed corpus and its cells."""
