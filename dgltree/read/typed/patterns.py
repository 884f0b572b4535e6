"""Patterns of tokens: one expression for all of them, and some for what they are made of."""

import re

from dgltree.read.notation import NUMBER
from dgltree.read.typed.spelling import FRACTIONS, MODULES, SUBSCRIPTS, SUPERSCRIPTS

MARKS = "".join((*SUPERSCRIPTS, *SUBSCRIPTS, *FRACTIONS, "π"))
LETTER, WORD = rf"(?![{MARKS}])[^\W\d_]", rf"(?![{MARKS}])\w"
_IN_BRACES = r"\{\s*(?:\\(?:mathrm|text|textrm)\{\s*([^\W_]+)\s*\}|\\?([^\W_]+))\s*\}"
_EMPTY = r"(?:\s|~|\?|_|\\_|\{\}|\\(?:q?quad|[ ,;:!])|\\(?:hspace|h?phantom)\*?\{[^{}]*\})*"

LATEX = re.compile(r"\\[A-Za-z(\[_{,]|\$|[\^_]\{")
"""Signs that only LaTeX has."""
TOKENS = re.compile(  # each group is a method of the lexer
    rf"""
      (?P<space> (?:\s|[&$~])+ | \\(?:begin|end)\{{(?:equation|align|aligned|gather|gathered|split|math)\*?\}} )
    | (?P<dots> \.{{2,}} | … )
    | (?P<braced> [0-9]+\{{,\}}[0-9]+ )
    | (?P<thousands> [1-9][0-9]{{0,2}}(?:,[0-9]{{3}}){{2,}}(?![0-9,]) )
    | (?P<repeating> [0-9]*\.[0-9]*(?:\([0-9]+\)|\\overline\s*\{{\s*[0-9]+\s*\}}) )
    | (?P<number> {NUMBER} )
    | (?P<fraction> [{"".join(FRACTIONS)}] )
    | (?P<superscript> [⁺⁻]?(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[{"".join(SUPERSCRIPTS)}]) )
    | (?P<subscript> [{"".join(SUBSCRIPTS)}]+ )
    | (?P<base> (?i:log)(?=_[^_\W]|_\{{|[{"".join(SUBSCRIPTS)}]) )
    | (?P<degree> [°º] | (?:(?<=[0-9])|(?<=[0-9]\s))deg(?:rees?)?(?!\w) )
    | (?P<percent> % ) | (?P<unequal> != ) | (?P<factorial> ! )
    | (?P<module> (?<![\w.])(?:{"|".join(MODULES)})\.(?=[^\W\d_])(?:[eE](?!\w))? ) | (?P<called> [pP][iI]\(\s*\) )
    | (?P<name> {LETTER}(?:{WORD})* )
    | (?P<constant> [π∞] ) | (?P<root> [√∛] )
    | (?P<blank> _+ | \?+ | □ )
    | (?P<placeholder> \\placeholder\s*(?:\[(?P<id>[^][]*)\])?\s*\{{{_EMPTY}\}} )
    | (?P<frame> \\(?:underline|boxed|fbox)\s*\{{{_EMPTY}\}} | \[\s*\]
                | \\(?:text|textrm|mathrm|mbox)\s*\{{\s*(?:\?|_|\\_|□)+\s*\}} )
    | (?P<word> \\(?:operatorname\*?|mathrm|mathit|mathbf|mathsf|mathop|textrm|textit|text)\s*
                \{{\s*(?P<said>{LETTER}(?:{WORD}|\\_)*)\s*\}} )
    | (?P<side> \\m?(?P<way>left|right)\s*(?P<delimiter>\\[lr]?(?:vert|brace|brack)|\\[{{}}]|[][()|.]) )
    | (?P<rule> \\[lr]vert )
    | (?P<command> \\(?:[A-Za-z]+|.) )
    | (?P<power> \*\*|\^ )
    | (?P<equals> ==?=? )
    | (?P<open> [(\[{{] ) | (?P<close> [)\]}}] ) | (?P<bar> \| )
    | (?P<arrow> -> ) | (?P<either> \+/?- ) | (?P<sign> [-+*/,:;] )
    """,
    re.VERBOSE,
)
LATEX_NAME = re.compile(rf"{LETTER}(?:(?!_){WORD})*")
WORD_FUNCTION = re.compile(r"〖([^\W\d_]+)〗")
"""How Word writes the name of a function."""
SUBSCRIPT = re.compile(rf"_(?:{_IN_BRACES}|([^\W_]+))")
NAMED = re.compile(rf"_(?:([0-9]+)|\{{\s*([0-9]+)\s*\}})|([{''.join(SUBSCRIPTS)}]+)")
"""The suffix that gives a blank a name."""
SUBSCRIPT_DIGITS = re.compile(f"[{''.join(SUBSCRIPTS)}]+")
TORN = re.compile(rf"\s*([0-9]{{2,}}|{LETTER}(?:{LETTER})+)")
"""Text that ``^`` and ``_`` would split in LaTeX, if they take one character."""
COEFFICIENT = re.compile("[0-9]+/[0-9]+")
"""A factor by itself if a space follows it: ``1/2 x``."""
SCIENTIFIC = re.compile(r"(?<=[0-9])(\s*)[xX](?=\s*10\s*(?:\^|\*\*|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]))")
"""The x of 3.0x10^8."""
INDEXED_ROOT = re.compile(r"\[[^][]*\]\s*\{")
"""An index of a root, and its argument in braces."""
GROUPED = re.compile("[0-9]+(_[0-9]+)")
"""A number as Python groups it."""
UNNAMED = re.compile(rf"[_?□]+(?!_){WORD}(?:{WORD})*")
"""A blank with a name that is not a number."""
ARGUMENT = re.compile(rf"\s*(?:[(\[^|²³⁻]|\\left)|\s+(?:\\|[√π]|{WORD})")
"""How the argument of a function begins."""
MATHEMATICA = re.compile(r"(?<!\w)(?:[A-Z][A-Za-z]+\[|Pi(?!\w))|(?<!\w)I\s*[* ]\s*pi(?!\w)")
"""Spellings that only Mathematica, or SymPy, uses."""
ESCAPED_BLANK = re.compile(r"(?:\\_)+([0-9]*)")
EULER_POWER = re.compile(r"\s*(?:\^|\*\*)\s*(\{[^{}]*\}|\([^()]*\)|[^\W\d_]\w*|-\s*\w+)")
"""A capital E that is raised, to what is not a whole number."""
EULER_ELSEWHERE = re.compile(r"(?<!\w)E(?!\w)(?!\s*(?:\^|\*\*))|(?<!\w)E\s*(?:\^|\*\*)\s*[0-9]")
"""A capital E that is a variable."""
