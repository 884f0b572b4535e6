"""Training by Lightning: what the commands and the tasks share. Needs the extra ``train``."""
