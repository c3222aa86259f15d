"""A tear sheet on a page: its charts one by one, and sections that say what they show."""
