"""core/search."""
