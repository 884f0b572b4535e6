"""Every picture. Needs the extra ``plot``."""
