"""Data-quality suites and the data-quality site: is what was measured fit to be believed?"""

from expectations.quality import run
from expectations.result import Finding, QualityError, QualityLocked, QualityResult

__all__ = ["Finding", "QualityError", "QualityLocked", "QualityResult", "run"]
