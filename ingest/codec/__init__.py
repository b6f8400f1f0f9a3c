"""Layouts compiled to column kernels, both ways: fields of records to Arrow columns, columns to the bytes of fields."""
