"""A compiler for recursive networks: from anyone's message, reduce and apply functions to a program and its derivative.

In the order in which a function becomes a program: :mod:`counts` and :mod:`equations` are on while :mod:`recording`
calls the functions and keeps each operation of torch; :mod:`translate` turns operations on tensors (:mod:`tensors`,
:mod:`rules`) into :mod:`values`; :mod:`catalogue` finds which program holds for which number of messages, and
:mod:`rolled` makes a loop of messages that are alike; :mod:`derivative` differentiates :mod:`programs`.

Then a program becomes a pass: :mod:`sweeps` divides it into loops, :mod:`printer` writes these in LLVM's language,
:mod:`driver` adds the loops over :mod:`rows`, :mod:`module` compiles; :mod:`compiled_pass` calls that for the tensors
at hand, once :mod:`shadow` has seen that the functions still do what was recorded.
"""
