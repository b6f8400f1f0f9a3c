"""Records of many intervals at once, column by column."""
