"""Fitted models and comparisons as one HTML page."""
