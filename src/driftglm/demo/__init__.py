"""A comparison on real data that come with the package."""

from driftglm.demo.run import DemoResult, load_volatility, run_demo

__all__ = ["DemoResult", "load_volatility", "run_demo"]
