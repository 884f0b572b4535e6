"""The commands of ``dgltree``, each with its own options."""
