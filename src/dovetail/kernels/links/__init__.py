"""Links themselves: marking, growing, combining, collecting."""
