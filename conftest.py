"""Tests draw the same examples in every run; `HYPOTHESIS_PROFILE=draw pytest` draws new ones, `make fuzz` does for
parsers what a test run has no time for."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)  # a busy machine is no failure
settings.register_profile("draw", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
