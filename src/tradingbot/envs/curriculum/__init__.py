"""Stages from easy to realistic, difficulty within a stage, and the environment that walks both."""
