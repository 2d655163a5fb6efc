"""How parameters are learned."""
