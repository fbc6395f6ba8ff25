// Where labels go that would lie on each other: the largest stays, smaller ones move or are left to the list.

export interface Label {
    price: number;
    side: "long" | "short";
    text: string;
    /** What is compared where labels collide. */
    size: number;
}

export interface Placed {
    label: Label;
    /** Height of its price, and of its text. */
    at: number;
    y: number;
}

const HEIGHT = 15;
/** How far a label may be from its price. */
const REACH = 45;

/** Labels with a place between `top` and `bottom`, largest first. */
export function placed(
    labels: readonly Label[],
    place: (price: number) => number | null,
    top: number,
    bottom: number,
    most: number,
): Placed[] {
    const found: Placed[] = [];
    const free = (y: number) =>
        y >= top + HEIGHT / 2 && y <= bottom - HEIGHT / 2 && found.every((other) => Math.abs(other.y - y) >= HEIGHT);
    for (const label of [...labels].sort((a, b) => b.size - a.size)) {
        if (found.length >= most) break;
        const at = place(label.price);
        if (at === null || at < top || at > bottom) continue;
        const inside = Math.max(top + HEIGHT / 2, Math.min(bottom - HEIGHT / 2, at));
        for (let by = 0; by <= REACH; by++) {
            const y = free(inside - by) ? inside - by : free(inside + by) ? inside + by : undefined;
            if (y === undefined) continue;
            found.push({ label, at, y });
            break;
        }
    }
    return found;
}
