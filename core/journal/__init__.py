"""core/journal."""
