"""What FastAPI on uvicorn serves of a folder of JSON files; a peer of ``serving.py``.

Below ``/ready`` the bytes of a file go out as they are, below ``/encoded`` what they say is encoded at every request,
by orjson, which is the quickest way that FastAPI has.
"""

import os
from pathlib import Path
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException, Response

FOLDER = "LIQDATA_BENCH_FILES"
READY: dict[str, bytes] = {}
PARSED: dict[str, Any] = {}
if FOLDER in os.environ:
    for file in Path(os.environ[FOLDER]).glob("*.json"):
        READY[file.stem] = file.read_bytes()
        PARSED[file.stem] = orjson.loads(READY[file.stem])

app = FastAPI()


@app.get("/ready/{name}")
async def ready(name: str) -> Response:
    if name not in READY:
        raise HTTPException(404)
    return Response(READY[name], media_type="application/json")


@app.get("/encoded/{name}")
async def encoded(name: str) -> Response:
    if name not in PARSED:
        raise HTTPException(404)
    return Response(orjson.dumps(PARSED[name]), media_type="application/json")
