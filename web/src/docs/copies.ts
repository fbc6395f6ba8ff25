// A question as a line of the shell, and as one of Python.

export function inShell(address: string): string {
    return `curl --header "Authorization: Bearer $LIQDATA_TOKEN" '${address.replace(/'/g, "%27")}'`;
}

const quoted = (text: string) => JSON.stringify(text);

/** Values that Python has as numbers are not quoted. */
const NUMBERS = new Set(["limit", "offset", "model", "bin", "min_usd"]);

export function inPython(name: string, asked: Record<string, string>, base: string): string {
    const given = Object.entries(asked).filter(([, value]) => value !== "");
    const parts = given.map(([key, value]) => {
        const number = NUMBERS.has(key) && /^\d+(\.\d+)?$/.test(value);
        return `${key}=${number ? value : quoted(value)}`;
    });
    return `import liqdata\n\nwith liqdata.Client(${quoted(base.replace(/\/$/, ""))}) as client:\n    print(client.${name}(${parts.join(", ")}))\n`;
}
