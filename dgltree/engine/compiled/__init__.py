"""A compiler for recursive networks: from anyone's message, reduce and apply functions to a program and its derivative.

In the order in which a function becomes a program: :mod:`counts` and :mod:`recurrent_cells` are on while
:mod:`recording` calls the functions and keeps each operation of torch; :mod:`translate` turns operations on tensors
(:mod:`tensors`) into :mod:`values`; :mod:`catalogue` finds which program holds for which number of messages;
:mod:`derivative` differentiates :mod:`programs`.
"""
