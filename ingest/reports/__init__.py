"""Reports as input: printed RMF reports, performance-analyzer and load-driver tables, CICS statistics listings.

What stands where in a report is data (`rmf_text.toml`, `tabular.toml`); this package holds what such data cannot say:
telling pages, headings and rows apart in printed text, and writing them again.
"""
