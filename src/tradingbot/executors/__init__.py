"""Where work is done: in this process, or in processes side by side; `cluster/` has one of Ray.

Analyses, folds, seeds and tuning hand plain items to an executor and take outcomes in any order.
"""
