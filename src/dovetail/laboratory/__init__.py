"""The papers' own slower methods, as printed, apart from what every user runs."""
