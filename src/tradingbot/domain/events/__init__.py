"""Events of training and of trading: one stream for journals, dashboards and alerts."""
