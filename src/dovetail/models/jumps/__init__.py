"""The jump factor: where the next link goes."""
