"""Equations made as the papers' were: Arabshahi et al. 2019 and 2021, by the generator of Arabshahi et al. 2018."""
