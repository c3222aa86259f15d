"""Export of a run: its encoder and heads as ONNX graphs, compared with PyTorch, in one bundle."""
