"""Where work is done: in this process, or in processes side by side; a cluster is one file more.

Analyses, folds, seeds and tuning hand plain items to an executor and take outcomes in any order.
"""
