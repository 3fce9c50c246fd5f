"""From what a user gave to a fit: plain functions over frozen records.

`fit_given` and `fit_more` (`fit.py`) take X, y and time and return a `Fitted`. On the way
`rows_in_memory` or `rows_on_workers` make `Rows`, the source of a fit; `pose` makes problems of
them, one a response; `find_mode` or `infer_posterior` make an `Outcome`: forecasters, and how the
solver ended. `eta_means` and `eta_moments` (`prediction.py`) apply a forecaster to new rows.
"""
