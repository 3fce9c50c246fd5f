"""Fits on many processes or machines through Dask, which is imported only when asked for."""
