"""One session rule per file: `RULE`. `risk/catalogue.py` lists them."""
