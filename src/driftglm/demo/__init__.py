"""A comparison on real data that come with the package."""

from driftglm.demo.run import DemoResult, run_demo
from driftglm.demo.votes import load_votes

__all__ = ["DemoResult", "load_votes", "run_demo"]
