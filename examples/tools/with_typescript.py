# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Clients in TypeScript that are generated from ``/openapi.json`` read an order, a heatmap and an error; it is linted.

Needs npm. TypeScript 7 has no interface for the generators, so both are run with 5.9.3.
"""

import json
import os
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from common import line

import liqdata

PACKAGES = {
    "typescript": "5.9.3",
    "openapi-typescript": "7.13.0",
    "openapi-fetch": "0.17.0",
    "@hey-api/openapi-ts": "0.99.0",
    "@redocly/cli": "2.77.0",
}
READ = """
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";
import { heatmap, orders } from "./made";
import type { HeatmapGrid, OrdersRow, Refusal } from "./made";

type Schemas = components["schemas"];
type Found<Row, Grid, Fault> = { order?: Row; grid?: Grid; error?: Fault };
type OfSchemas = Found<Schemas["OrdersRow"], Schemas["HeatmapGrid"], Schemas["Refusal"]>;

async function byFetch(baseUrl: string): Promise<OfSchemas> {
  const client = createClient<paths>({ baseUrl });
  const found = await client.GET("/api/liquidations", { params: { query: { symbol: "PEPE", limit: 1 } } });
  const shown = await client.GET("/api/liq-heatmap", { params: { query: { symbol: "BTC", range: "12h" } } });
  const refused = await client.GET("/api/liquidations", { params: { query: { limit: 0 } } });
  return { order: found.data?.data[0], grid: shown.data as Schemas["HeatmapGrid"], error: refused.error };
}

async function byHeyApi(baseUrl: string): Promise<Found<OrdersRow, HeatmapGrid, Refusal>> {
  const found = await orders({ baseUrl, query: { symbol: "PEPE", limit: 1 } });
  const shown = await heatmap({ baseUrl, query: { symbol: "BTC", range: "12h" } });
  const refused = await orders({ baseUrl, query: { limit: 0 } });
  return { order: found.data?.data[0], grid: shown.data as HeatmapGrid, error: refused.error };
}

async function main(): Promise<void> {
  const url = process.argv[2] as string;
  console.log(JSON.stringify([await byFetch(url), await byHeyApi(url)]));
}

declare const process: { argv: string[] };
void main();
"""
SETTINGS = {
    "compilerOptions": {
        "strict": True,
        "target": "es2022",
        "module": "node16",
        "lib": ["es2022", "dom", "dom.iterable"],
        "types": [],
        "outDir": "built",
    },
    "include": ["read.ts", "schema.d.ts", "made"],
}


def main():
    """Generate, lint, check and run."""
    market = liqdata.demo(seed=7)
    (order,) = market.orders("PEPE", limit=1)
    grid = market.heatmap("BTC", "12h").to_dict()
    with tempfile.TemporaryDirectory() as name, liqdata.serve(market) as server:
        folder = Path(name)

        def npx(command, *arguments):
            """Run a command of the packages and return what it prints."""
            quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
            done = subprocess.run(
                [folder / "node_modules" / ".bin" / command, *arguments],
                cwd=folder,
                env={**os.environ, **quiet},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
            return done.stdout

        (folder / "package.json").write_text('{"type": "commonjs"}')
        (folder / "tsconfig.json").write_text(json.dumps(SETTINGS))
        (folder / "read.ts").write_text(READ)
        with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=60) as reply:
            (folder / "openapi.json").write_bytes(reply.read())
        packages = [f"{package}@{number}" for package, number in PACKAGES.items()]
        options = ["--silent", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
        install = ["npm", "install", *options, *packages]
        subprocess.run(install, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        linted = json.loads(npx("redocly", "lint", "openapi.json", "--format=json"))
        assert linted["totals"]["errors"] == 0, linted["totals"]
        npx("openapi-typescript", "openapi.json", "--output", "schema.d.ts")
        npx("openapi-ts", "--input", "openapi.json", "--output", "made")
        npx("tsc", "--project", ".")
        node = ["node", "built/read.js", server.url]
        done = subprocess.run(node, cwd=folder, capture_output=True, text=True, check=True)
        for found in json.loads(done.stdout):
            assert found["order"]["price"] == f"{order['price']:f}"
            assert found["order"]["timestamp"] == order["timestamp"]
            assert found["grid"]["times"] == grid["times"]
            assert found["grid"]["matrix"] == grid["matrix"]
            assert found["error"]["error"]["parameter"] == "limit"
    typed = "replies and errors have types, checked by `tsc --strict`; times are exact"
    needed = f"`typescript@{PACKAGES['typescript']}`; `data as HeatmapGrid` for maps, which have a binary form too"
    line("openapi-typescript (npm)", f"{PACKAGES['openapi-typescript']} | {typed}", f"{needed}; `openapi-fetch` asks")
    line("@hey-api/openapi-ts (npm)", f"{PACKAGES['@hey-api/openapi-ts']} | {typed}", needed)
    line("Redocly CLI (npm)", f"{PACKAGES['@redocly/cli']} | `redocly lint` finds no error in `/openapi.json`", "—")


if __name__ == "__main__":
    main()
