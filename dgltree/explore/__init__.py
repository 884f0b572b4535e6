"""The page of ``dgltree explore``, one file per room; static/ is its browser side. Needs the extra ``explore``."""
