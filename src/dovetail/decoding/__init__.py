"""Which alignment is best."""
