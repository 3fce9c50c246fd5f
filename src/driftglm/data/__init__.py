"""Tables and time labels become arrays."""
