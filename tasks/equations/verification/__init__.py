"""Telling correct equations from wrong ones: training, data in batches, accuracy by depth, and number equations."""
