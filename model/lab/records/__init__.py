"""What the lab writes into records: rows by section, as columns of the record layouts."""
