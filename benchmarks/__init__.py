"""Speed and memory of dgltree beside its peers, measured in the same run: what ``scripts/bench`` runs."""
