"""Every picture: curves, charts, trees. Needs the extra ``plot``."""
