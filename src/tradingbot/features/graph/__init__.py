"""Features as expressions: nodes, the operations they name, plans and their evaluation."""
