"""Networks that find the trees themselves.

Which options only choose between programs of one network, and whose: the table of published names in docs/networks.md.
"""
