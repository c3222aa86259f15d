"""Independent implementations that tests compare the package with; nothing in it imports them."""
