"""The tests of compositionality of Arabshahi et al. 2019 and 2021 on generated equations."""
