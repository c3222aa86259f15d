"""The web dashboard: sources read, figures draw, pages show; acts need a key and are audited."""
