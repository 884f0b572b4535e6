"""The commands of ``dgltree``: each reads its arguments, calls the packages below, and prints."""
