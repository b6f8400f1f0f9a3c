"""The kinds of file Etalon reads, a room for each: what bytes or text become, and how they are written again.

`identify` says of which kind a file is, `readers` reads it, `schemas` has the tables that no record layout describes.
"""
