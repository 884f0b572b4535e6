"""An encoder and a readout together, and their files."""
