"""The `driftglm` command: parse, call the library, print."""
