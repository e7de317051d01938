"""Evaluation room: whether ranking is right — judged queries, arms to compare, ablation, sweeps, what was missed."""
