"""Estimators as files, and back."""
