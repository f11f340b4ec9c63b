"""The dashboard: runs, games, ladder and fleet as pages, and boards to play on.

`zerofleet dash` serves it, and `zerofleet train` beside a run. A FastAPI application answers JSON
under /api/v1 (zerofleet.web.schema) and serves the pages, which are built from web/ into assets/.
It reads what the roles write, and searches in a bounded pool. Needs the extra `web`.
"""
