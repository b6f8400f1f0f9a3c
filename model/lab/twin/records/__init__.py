"""What is measured of a twin as records of many intervals at once; the sections are those of `model.lab.records`."""
