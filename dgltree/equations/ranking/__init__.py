"""What a network says of fillers, forms and equations: ranks, scores and probabilities."""
