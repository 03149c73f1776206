"""Benchmarks: what each operation takes, beside the raw engines' figure for the same work in the same run."""
