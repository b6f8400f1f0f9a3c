"""Reading a file from start to end: which files are meant, reading ahead, holding rows, accounts, and the outcome."""
