"""Things that learn: tasks, learners, value targets, guards, the trainer. Knows no trading.

A learner sees a `Task` (`learning/task.py`): rows of an exogenous table and a few private numbers
in, actions out. Its folder holds `config.py`, `loss.py`, `learner.py`.
"""
