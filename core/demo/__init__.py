"""core/demo."""
