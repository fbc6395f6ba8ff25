// Small parts that panels share.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Region } from "../data/loader";
import { exact } from "../view/numbers";
import type { Reading } from "../view/reading";
import { troubleText, waitingText } from "../view/sentences";
import type { Readout } from "../view/shown";
import { change, tick, view } from "../view/state";

export function Choice<T extends string>(props: {
    name: string;
    value: T;
    options: readonly (readonly [T, string])[];
    onChange: (value: T) => void;
    id?: string;
    /** Why some cannot be chosen. */
    refused?: ReadonlyMap<string, string>;
}) {
    const { name, value, options, onChange, id, refused } = props;
    return (
        <label class="choice">
            <span class="name">{name}</span>
            <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
                {options.map(([key, text]) => {
                    const reason = key === value ? undefined : refused?.get(key);
                    return (
                        <option key={key} value={key} disabled={reason !== undefined}>
                            {reason === undefined ? text : `${text} · ${reason}`}
                        </option>
                    );
                })}
            </select>
        </label>
    );
}

/** A region's content, or the sentence that says why there is none. */
export function State<T>({ of, children }: { of: Region<T>; children: (body: T) => ComponentChildren }) {
    const { trouble, body } = of;
    const waits = waitingText(of, tick.value);
    return (
        <>
            {trouble && (
                <p class="trouble" role="status">
                    {troubleText(trouble, tick.value, view.value.tz)}
                    {trouble.is === "refused" && trouble.parameter && trouble.parameter in view.value && (
                        <button type="button" onClick={() => reset(trouble.parameter as string)}>
                            reset {trouble.parameter}
                        </button>
                    )}
                </p>
            )}
            {waits !== undefined && <p class="faint">{waits}</p>}
            {body !== undefined && children(body)}
        </>
    );
}

/** What a chart says of the cell that is pointed at. */
export function ReadoutLine({ of, hint, polite = false }: { of: Readout | undefined; hint: string; polite?: boolean }) {
    return (
        <p
            class="readout"
            data-row={of?.row}
            data-column={of?.column}
            data-value={of?.exact}
            role="status"
            aria-live={polite ? "polite" : "off"}
        >
            {of ? (
                <>
                    <span>{of.place}</span> <strong title={of.exact ? exact(of.exact) : ""}>{of.amount}</strong>{" "}
                    <span class="faint">{of.notes.join(" · ")}</span>
                </>
            ) : (
                <span class="faint">{hint}</span>
            )}
        </p>
    );
}

/** What is under the pointer, beside it. */
export function Tip({ of }: { of: Reading | undefined }) {
    const box = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        const element = box.current;
        const frame = element?.parentElement;
        if (!element || !frame || !of) return;
        const { x, y } = of.at;
        const [width, height] = [element.offsetWidth, element.offsetHeight];
        const left = x + 16 + width > frame.clientWidth ? x - 16 - width : x + 16;
        const top = y + 16 + height > frame.clientHeight ? y - 16 - height : y + 16;
        const inside = (at: number, most: number) => Math.max(2, Math.min(at, most));
        element.style.left = `${inside(left, frame.clientWidth - width - 2)}px`;
        element.style.top = `${inside(top, frame.clientHeight - height - 2)}px`;
    }, [of]);
    if (!of) return null;
    return (
        <div ref={box} class="tip" role="tooltip">
            <strong>{of.title}</strong>
            <dl>
                {of.rows.map(([name, value]) => (
                    <div key={name + value}>
                        <dt>{name}</dt>
                        <dd>{value}</dd>
                    </div>
                ))}
            </dl>
        </div>
    );
}

export function reset(parameter: string): void {
    const standard: Record<string, unknown> = { symbol: "BTC", range: "24h", model: "2", source: "estimate" };
    change({ [parameter]: standard[parameter] }, true);
}

export function Dialog({
    name,
    onClose,
    children,
}: {
    name: string;
    onClose: () => void;
    children: ComponentChildren;
}) {
    const box = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        const dialog = box.current;
        if (dialog && !dialog.open) dialog.showModal();
    }, []);
    return (
        <dialog ref={box} onClose={onClose} aria-label={name}>
            <header>
                <h2>{name}</h2>
                <button type="button" onClick={() => box.current?.close()}>
                    close
                </button>
            </header>
            {children}
        </dialog>
    );
}
