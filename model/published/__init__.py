"""Reference systems as data: one TOML file per published measurement, read by `model.published.catalogue`."""
