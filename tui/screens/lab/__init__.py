"""The ranking lab: the pipeline as controls, what they change beside what is saved, and what it is worth."""
