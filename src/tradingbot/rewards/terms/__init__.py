"""Reward terms, one file per objective; `rewards/catalogue.py` lists them."""
