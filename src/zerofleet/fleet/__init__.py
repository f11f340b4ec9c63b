"""Places roles on machines: so far all of them in one process (local.py)."""
