"""Data-quality suites and the data-quality site: is what was measured fit to be believed?"""
