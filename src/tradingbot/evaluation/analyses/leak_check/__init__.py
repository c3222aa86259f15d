"""Could the future have been seen: features and actions under another future."""
