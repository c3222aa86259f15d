"""Who may ask a server for what: API keys, and the audit trail of what was asked and refused."""
