"""Bars to named causal numbers: indicators, regimes, scaling, the panel and the causality proof."""
