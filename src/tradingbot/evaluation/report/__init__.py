"""Pages that people read: one self-contained HTML file per run or per evaluation."""
