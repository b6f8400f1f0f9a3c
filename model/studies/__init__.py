"""Measurements looked at: runs side by side, and published figures beside what Etalon computes from their records."""
