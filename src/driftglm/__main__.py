"""`python -m driftglm` is the command `driftglm`."""

from driftglm.cli.main import run

if __name__ == "__main__":
    run()
