"""Units of work: parts of dumps, and bundles of small files, that are decoded apart from one another.

`plan` cuts files into units. `scan` says of a unit what the others must know. `settle` proves that one unit ends where
the next begins, joins those that do not, and gives each what it must know. `decode` makes rows of a unit. All four are
functions of what they are given, which can be pickled, and know no database: whoever calls them commits the results.
"""

from ingest.units.decode import Decoded, decode
from ingest.units.parts import Part
from ingest.units.plan import plan
from ingest.units.scan import Scan, scan
from ingest.units.settle import settle
from ingest.units.unit import File, Piece, Unit

__all__ = ["Decoded", "File", "Part", "Piece", "Scan", "Unit", "decode", "plan", "scan", "settle"]
