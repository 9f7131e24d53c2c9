"""Studies."""

class Study:
    pass
