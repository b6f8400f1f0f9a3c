"""What dumps travel in: compressed and packed files, opened as streams of the bytes inside."""
