"""Trees to flat tensors: vocabulary, batch and its DGL form, selections, duplicate subtrees."""
