"""The epochs of a training, by Lightning."""
