"""Evaluations: how well retrieval finds, measured on real conversations beside plain baselines."""
