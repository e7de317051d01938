"""The sections of the bench: each yields the rows of one bar."""
