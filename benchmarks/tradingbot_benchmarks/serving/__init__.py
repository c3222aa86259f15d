"""Serving measured: models in ONNX Runtime against PyTorch, and against budgets."""
