"""CICS dictionaries and records for tests."""

import datetime as dt

from ingest.formats.cics.encode import Region

REGION = Region("SYSA", "CICSAOR1", "AORJOB1")
NOW = dt.datetime(2026, 3, 4, 5, 6, 7)
