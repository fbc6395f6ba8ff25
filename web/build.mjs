// Builds the page into dist/, or with --check into memory, and compares.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const dist = new URL("dist/", here);

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function bundle(entry) {
    const result = await build({
        entryPoints: [new URL(entry, here).pathname],
        bundle: true,
        minify: true,
        write: false,
        target: "es2022",
        format: "esm",
        charset: "utf8",
        legalComments: "none",
        jsx: "automatic",
        jsxImportSource: "preact",
        absWorkingDir: here.pathname,
    });
    return Buffer.from(result.outputFiles[0].contents);
}

async function licences() {
    const parts = ["Third-party software in app.js, docs.js and live.js of the page of liqdata.\n"];
    const names = [
        "lightweight-charts",
        "fancy-canvas",
        "preact",
        "@preact/signals",
        "@preact/signals-core",
        "eventsource-parser",
    ];
    for (const name of names) {
        const folder = new URL(`node_modules/${name}/`, here);
        const about = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
        const files = (await readdir(folder)).filter((file) => /^(licen[sc]e|notice)/i.test(file)).sort();
        const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), "utf8")));
        parts.push(
            `${"=".repeat(78)}\n${about.name} ${about.version} (${about.license})\n`,
            ...texts.map((text) => text.trim()),
        );
    }
    parts.push(
        `${"=".repeat(78)}\nColour tables inferno, viridis and cividis: from matplotlib (viridis and inferno CC0, cividis BSD).`,
        "Charting by TradingView Lightweight Charts™, https://www.tradingview.com/",
    );
    return Buffer.from(`${parts.join("\n")}\n`);
}

async function files() {
    const made = {
        "app.js": await bundle("src/main.tsx"),
        "app.css": await bundle("src/app.css"),
        "docs.js": await bundle("src/docs/main.tsx"),
        "live.js": await bundle("src/live/main.ts"),
        "icon.svg": await readFile(new URL("src/icon.svg", here)),
        "THIRD-PARTY.txt": await licences(),
    };
    // A page names each asset with its hash, so that a browser may keep it for ever.
    for (const name of ["index.html", "docs.html"]) {
        const text = await readFile(new URL(`src/${name}`, here), "utf8");
        const named = text.replace(
            /\{\{([a-z.]+)\}\}/g,
            (_, asset) => `${asset}?v=${sha256(made[asset]).slice(0, 12)}`,
        );
        made[name] = Buffer.from(named);
    }
    const sums = Object.keys(made)
        .sort()
        .map((name) => `${sha256(made[name])}  ${name}\n`);
    made.SHA256SUMS = Buffer.from(sums.join(""));
    return made;
}

const made = await files();
if (process.argv.includes("--check")) {
    const kept = (await readdir(dist)).filter((name) => name !== "sbom.cdx.json");
    const names = [...new Set([...kept, ...Object.keys(made)])].sort();
    const differing = [];
    for (const name of names) {
        const bytes = await readFile(new URL(name, dist)).catch(() => undefined);
        if (!bytes || !made[name] || !bytes.equals(made[name])) differing.push(name);
    }
    if (differing.length) {
        console.error(`web/dist is not what the sources give: ${differing.join(", ")}; run npm run build`);
        process.exit(1);
    }
} else {
    await mkdir(dist, { recursive: true });
    for (const name of await readdir(dist)) {
        if (name !== "sbom.cdx.json") await rm(new URL(name, dist));
    }
    for (const [name, bytes] of Object.entries(made)) await writeFile(new URL(name, dist), bytes);
    for (const [name, bytes] of Object.entries(made)) console.log(`${String(bytes.length).padStart(8)}  ${name}`);
}
