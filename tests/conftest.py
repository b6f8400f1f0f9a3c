"""Settings every test shares."""

from hypothesis import settings

# Compiled kernels make the first example of a run slow: time is no property of the behaviour under test.
settings.register_profile("etalon", deadline=None, print_blob=True)
settings.load_profile("etalon")
