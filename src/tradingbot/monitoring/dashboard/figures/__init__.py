"""Pictures as pure functions of records; Plotly draws them, nothing here knows a page."""
