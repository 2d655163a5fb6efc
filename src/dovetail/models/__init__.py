"""What an alignment is worth: the models, made of factors."""
