"""The demonstration: a comparison on real volatility data that come with the package."""
