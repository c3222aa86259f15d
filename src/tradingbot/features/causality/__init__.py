"""Proof that nothing in the present was computed from the future.

Subjects claim outputs; the prover changes, truncates and poisons the future and compares the past
bit for bit; a certificate beside the panel records the result. The project's own subjects are in
`defaults`.
"""
