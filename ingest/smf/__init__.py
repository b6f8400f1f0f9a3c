"""What a layout cannot say about SMF records: compression, dictionaries, self-describing data."""
