"""Settings every test shares."""

from hypothesis import settings

# Compiled kernels make the first example of a run slow: time is no property of the behaviour under test.
# A run of all tests draws the same examples each time, so that it fails only for what was changed; `make explore` draws
# new ones.
settings.register_profile("etalon", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True, derandomize=False)
settings.load_profile("etalon")
