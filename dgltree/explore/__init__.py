"""``dgltree explore``: a page to look into the networks. Needs the extra ``explore`` (Starlette, uvicorn)."""
