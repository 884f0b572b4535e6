"""Training of networks on labelled trees, trained models and their folders. Needs the extra ``train``."""
