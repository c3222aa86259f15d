"""Networks: encoders, stacked heads, distributions. Torch only; nothing here knows of trading."""
