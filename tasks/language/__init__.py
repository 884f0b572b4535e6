"""Language models of words: perplexity, the trees that they find, and grammar (Shen et al. 2019, arXiv 1810.09536)."""
