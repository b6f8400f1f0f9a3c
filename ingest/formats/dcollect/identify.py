"""How records of DCOLLECT are recognized: by a known kind and a packed date."""

from ingest.framing import Dating

_KINDS = ("D", "A", "V", "M", "B", "C", "T", "DC", "SC", "MC", "BC", "SG", "VL", "AG", "DR", "LB", "CN", "AI", "TV")
#: Every kind of record DCOLLECT writes: of data sets and volumes, of the space manager, of the definitions of SMS.
CODES = frozenset(kind.ljust(2).encode("cp037") for kind in _KINDS)
HEADER_BYTES = 24
DATING = Dating(16, 0x99)
"""A date of collection as the digits yyyyddd."""
