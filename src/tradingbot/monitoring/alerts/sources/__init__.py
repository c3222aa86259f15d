"""Where metrics come from: journals, run folders, inference servers, the disk."""
