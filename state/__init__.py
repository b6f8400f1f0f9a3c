"""Small files of the state folder: one way to write them, to read them, and to say what is wrong with one; and where
machine code of compiled loops is kept."""
