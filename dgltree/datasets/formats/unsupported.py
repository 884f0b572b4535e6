"""Kinds of files that hold no trees which we read, and what would."""

SHEET = "a spreadsheet; save the sheet as CSV"
ARCHIVE = "an archive; unpack it (single files compressed as .gz, .bz2 or .xz are read as they are)"
PICKLED = (
    "pickled or binary data, which is never unpickled; write the trees as text, for example one S-expression per line"
)
MARKUP = "markup, which is not supported as a notation; write its trees as JSON or S-expressions"
SOURCE = (
    "source code of an unsupported language (Python, C, Java and JavaScript are supported); parse it, and write its "
    "trees as "
    "S-expressions or JSON"
)
DOCUMENT = "a document; save its trees as text"
TEXT = "text without trees; expected a table, or one tree per line"
TABLE = "a table in an unsupported format; save it as CSV or Parquet"

REFUSED = {
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), SHEET),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".zst", ".whl", ".lz4"), ARCHIVE),
    **dict.fromkeys(
        (".pkl", ".pickle", ".pt", ".pth", ".bin", ".npy", ".npz", ".h5", ".hdf5", ".safetensors"), PICKLED
    ),
    **dict.fromkeys((".yaml", ".yml", ".toml", ".rst"), MARKUP),
    **dict.fromkeys((".h", ".cpp", ".hpp", ".cc", ".ts", ".go", ".rs", ".rb", ".jl", ".r"), SOURCE),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".png", ".jpg", ".jpeg", ".svg"), DOCUMENT),
    **dict.fromkeys((".md", ".markdown", ".log"), TEXT),
    **dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".sqlite", ".db", ".dta", ".sav"), TABLE),
    ".ipynb": "a notebook; save it as a Python file (jupyter nbconvert --to script)",
    ".pyc": "compiled Python; give the .py file",
}
"""Suffix to what such a file is, and what would be right."""
