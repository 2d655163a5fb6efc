"""Texts of any size on one machine: a folder from which a killed run goes on, and how much memory a run will need."""
