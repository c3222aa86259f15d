"""The demonstration: the product's main job on a synthetic market, step by step."""
