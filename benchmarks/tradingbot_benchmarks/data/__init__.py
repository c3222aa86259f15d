"""Generating, checking, features, panel and streaming."""
