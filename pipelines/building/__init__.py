"""Building no more of the marts than what has changed since they were last built."""
