"""CICS: monitoring data, which a dictionary describes, statistics (both SMF 110), and printed statistics listings."""
