"""Reward terms, one per file; `rewards/catalogue.py` lists them."""
