// The interface for people: what /openapi.json says, with each question ready to be tried and copied.
import { signal, useSignal } from "@preact/signals";
import { render } from "preact";
import { headers, path } from "../data/api";
import { TokenForm } from "../panels/token";
import { inPython, inShell } from "./copies";

interface Schema {
    type?: string;
    enum?: string[];
    pattern?: string;
    minimum?: number;
    maximum?: number;
    default?: unknown;
}

interface Parameter {
    name: string;
    in: string;
    description?: string;
    schema?: Schema;
}

interface Operation {
    operationId?: string;
    summary?: string;
    description?: string;
    parameters?: Parameter[];
}

interface Description {
    info: { title: string; version: string; description?: string };
    paths: Record<string, { get?: Operation }>;
}

const described = signal<Description | undefined>(undefined);
const problem = signal("");
const said = signal("");

async function load(): Promise<void> {
    const response = await fetch("openapi.json", { headers: headers(), credentials: "omit" });
    if (response.status === 401) problem.value = "token";
    else if (!response.ok) problem.value = `The server answered with status ${response.status}.`;
    else {
        problem.value = "";
        described.value = await response.json();
    }
}

async function copy(text: string): Promise<void> {
    try {
        await navigator.clipboard.writeText(text);
        said.value = "copied";
    } catch {
        said.value = "The browser did not allow copying.";
    }
    setTimeout(() => {
        said.value = "";
    }, 3000);
}

const LONGEST = 20_000;

function Endpoint({ at, operation }: { at: string; operation: Operation }) {
    const answer = useSignal("");
    const asked = useSignal<Record<string, string>>({});
    const query = (operation.parameters ?? []).filter((parameter) => parameter.in === "query");
    const address = () => path(at.slice(1), asked.peek());
    const streams = at.endsWith("/stream");
    const ask = async () => {
        answer.value = "…";
        const response = await fetch(address(), { headers: headers(), credentials: "omit" });
        const text = await response.text();
        const cut = text.length > LONGEST ? `\n… ${text.length - LONGEST} more characters` : "";
        answer.value = `${response.status} ${response.statusText}\n${text.slice(0, LONGEST)}${cut}`;
    };
    const Answer = () => (answer.value ? <pre>{answer.value}</pre> : null);
    return (
        <details class="endpoint">
            <summary>
                <code>{at}</code> {operation.summary ?? operation.description}
            </summary>
            {query.map(({ name, description, schema }) => (
                <div class="parameter" key={name}>
                    <label for={`${at} ${name}`}>
                        <code>{name}</code>
                    </label>
                    {schema?.enum ? (
                        <select
                            id={`${at} ${name}`}
                            onChange={(event) => {
                                asked.value = { ...asked.peek(), [name]: event.currentTarget.value };
                            }}
                        >
                            <option value="">
                                {schema.default === undefined ? "" : `${schema.default} (default)`}
                            </option>
                            {schema.enum.map((value) => (
                                <option key={value}>{value}</option>
                            ))}
                        </select>
                    ) : (
                        <input
                            id={`${at} ${name}`}
                            placeholder={schema?.default === undefined ? "" : String(schema.default)}
                            onInput={(event) => {
                                asked.value = { ...asked.peek(), [name]: event.currentTarget.value };
                            }}
                        />
                    )}
                    <span class="faint">{description}</span>
                </div>
            ))}
            <p>
                {!streams && (
                    <button type="button" onClick={ask}>
                        ask
                    </button>
                )}{" "}
                <button type="button" onClick={() => copy(inShell(new URL(address(), location.href).href))}>
                    copy as curl
                </button>{" "}
                <button
                    type="button"
                    onClick={() =>
                        copy(inPython(operation.operationId ?? "", asked.peek(), new URL(".", location.href).href))
                    }
                >
                    copy as Python
                </button>
            </p>
            <Answer />
        </details>
    );
}

function Docs() {
    if (problem.value === "token") return <TokenForm button="show the interface" onToken={load} />;
    const about = described.value;
    return (
        <main class="docs">
            <h1>
                <a href="./">liqdata</a> · interface
            </h1>
            {problem.value && <p class="trouble">{problem.value}</p>}
            <p role="status">{said.value}</p>
            {about && (
                <>
                    <p>
                        {about.info.title} {about.info.version}. {about.info.description}{" "}
                        <a href="openapi.json">openapi.json</a>
                    </p>
                    {Object.entries(about.paths).map(
                        ([at, { get }]) => get && <Endpoint key={at} at={at} operation={get} />,
                    )}
                </>
            )}
        </main>
    );
}

const root = document.getElementById("page");
if (root) render(<Docs />, root);
load();
