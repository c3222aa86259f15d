"""Is it luck: inference on Sharpe ratios, on searches, on seeds and on dependent returns.

Pure functions of NumPy arrays, a module per question. What is measured lives in
`evaluation.metrics`.
"""
