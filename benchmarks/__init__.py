"""Speed and memory of dgltree next to its peers, measured in the same run: what ``scripts/bench`` runs."""
