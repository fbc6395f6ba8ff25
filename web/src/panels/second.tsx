// The second chart: another source on the same prices and times, with colours and words of its own.
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Plane } from "../chart/plane";
import { short } from "../view/numbers";
import { secondReading } from "../view/reading";
import { look, phone, still } from "../view/screen";
import {
    gapsShown,
    secondCursor,
    secondInstead,
    secondLabel,
    secondPrice,
    secondReadout,
    secondRealised,
    secondStrips,
} from "../view/shown";
import {
    change,
    charts,
    covers,
    grids,
    otherCoin,
    secondRange,
    simulated,
    unfinisheds,
    view,
    wholes,
} from "../view/state";
import { ReadoutLine, Tip } from "./parts";

let second: Plane | undefined;
export const secondChart = () => second;

function mount(box: HTMLElement, first: () => Plane | undefined): () => void {
    const made = new Plane(
        box,
        look.peek(),
        {
            cursor: (at) => {
                secondCursor.value = at;
            },
            moved: (window) => {
                // Another coin has prices of its own.
                const shown = otherCoin.peek() === undefined ? window : { t: window.t, p: undefined };
                first()?.show(shown);
                change(otherCoin.peek() === undefined ? window : { t: window.t });
            },
        },
        still.peek(),
    );
    second = made;
    // The first chart decides what is in view: after it was painted, the second shows the same.
    let due = 0;
    const follow = () => {
        cancelAnimationFrame(due);
        due = requestAnimationFrame(() => {
            due = requestAnimationFrame(() => {
                const window = first()?.window();
                if (window) made.show(otherCoin.peek() === undefined ? window : { t: window.t, p: undefined });
            });
        });
    };
    const resized = new ResizeObserver(follow);
    resized.observe(box);
    const ends = [
        effect(() => made.setLook(look.value)),
        effect(() => made.setZone(view.value.tz)),
        effect(() => made.setPrice(secondPrice.value)),
        effect(() => made.setScale(view.value.scale)),
        effect(() => {
            const covered = covers.value;
            if (covered) made.setData(grids[1].value, wholes[1].value, covered, unfinisheds[1].value);
        }),
        effect(() => made.setColours({ cmap: view.value.cmap, ...secondRange.value })),
        effect(() => made.setStrips(phone.value ? [] : secondStrips.value, 0.16)),
        effect(() => made.setRealised(secondRealised.value, gapsShown.value)),
        effect(() => {
            if (otherCoin.value !== undefined) made.fitPrices();
        }),
        effect(() => made.setSimulated(simulated.value)),
        effect(() => {
            void [view.value, grids[0].value, grids[1].value, wholes[1].value, covers.value, secondStrips.value];
            follow();
        }),
    ];
    made.fill(0.8);
    return () => {
        cancelAnimationFrame(due);
        resized.disconnect();
        for (const end of ends) end();
        made.remove();
        second = undefined;
        secondCursor.value = undefined;
    };
}

export function Second({ first }: { first: () => Plane | undefined }) {
    const box = useRef<HTMLDivElement>(null);
    useEffect(() => (box.current ? mount(box.current, first) : undefined), [first]);
    const words = secondLabel.value;
    const shown = grids[1].value;
    const { vmin, vmax } = secondRange.value;
    return (
        <>
            <div class="label second">
                <p>
                    <strong>{charts.value[1]?.symbol}</strong> {words.join(" · ")}
                    {shown && `, from ${short(vmin)} to ${short(vmax)}${shown.units === "usd" ? " USD" : ""}`}
                    {secondInstead.value && <span class="trouble"> {secondInstead.value}</span>}
                </p>
                <button type="button" onClick={() => change({ compare: undefined }, true)}>
                    close
                </button>
            </div>
            <div class="frame second">
                <div
                    ref={box}
                    class="canvas"
                    role="group"
                    aria-label={`${charts.value[1]?.symbol}, compared: ${words.join(", ")}.`}
                />
                <Tip of={secondReading.value} />
            </div>
            <ReadoutLine of={secondReadout.value} hint="Point at this map to read a cell of it." />
        </>
    );
}
