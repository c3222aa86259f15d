"""One risk rule per file: `RULE`, a check with its code. `risk/catalogue.py` lists them."""
