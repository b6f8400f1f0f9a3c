"""A night unattended: what arrived is loaded, built, checked, published and reported."""
