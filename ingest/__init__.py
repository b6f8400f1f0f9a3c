"""z/OS record formats to Arrow and DuckDB."""
