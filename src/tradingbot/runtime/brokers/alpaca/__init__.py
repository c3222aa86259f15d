"""Alpaca's paper account behind the broker protocol, through the official client alpaca-py."""
