"""Processes of their own: each measures one thing and prints one line of JSON."""
