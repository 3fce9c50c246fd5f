"""The command `driftglm`: one file a command, the library imported inside functions only."""
