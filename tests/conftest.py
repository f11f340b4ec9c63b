"""What all Python tests share."""

from hypothesis import settings

# The same examples each time and no deadline: a test fails for what the code does, not for load.
settings.register_profile("zerofleet", derandomize=True, deadline=None)
settings.load_profile("zerofleet")
