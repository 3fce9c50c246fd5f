"""From what a user gave to a fit: plain functions over frozen records.

fit_given, fit_more     X, y and time of a user -> Fitted
rows_in_memory, rows_on_workers               -> Rows, the source of a fit
pose                                          -> problems, one a response
find_mode, infer_posterior                    -> Outcome: forecasters, how the solver ended
eta_means, eta_moments  a forecaster and new rows -> the linear predictor
"""
