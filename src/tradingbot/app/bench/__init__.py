"""Speed measured against named references in the same run."""
