"""Where bars come from: one file per source behind the `BarSource` protocol."""
