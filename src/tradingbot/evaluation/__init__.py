"""Is it worth anything: oracles, facts, figures and the report page."""
