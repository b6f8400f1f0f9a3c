"""Published figures beside what Etalon computes from the records that the lab rendered of them."""
