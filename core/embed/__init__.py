"""Embed room: texts in, unit vectors out, from this machine or from an endpoint a person has confirmed."""
