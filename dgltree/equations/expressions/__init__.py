"""Expressions as they are written: names of variables, the path to a blank, forms that are the same when rearranged."""
