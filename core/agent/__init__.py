"""core/agent."""
