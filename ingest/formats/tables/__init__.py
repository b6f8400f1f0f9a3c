"""Tables as files: of performance analyzers, load drivers and collectors, and the runs and groups files."""
