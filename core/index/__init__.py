"""core/index."""
