"""The paper's two experiments, end to end."""
