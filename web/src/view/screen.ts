// How wide the page is and what the reader's system asks for.
import { computed, signal } from "@preact/signals";
import { DARK, LIGHT } from "../chart/look";
import { view } from "./state";

function matches(query: string) {
    const list = matchMedia(query);
    const found = signal(list.matches);
    list.addEventListener("change", () => {
        found.value = list.matches;
    });
    return found;
}

export const phone = matches("(max-width: 599px)");
export const still = matches("(prefers-reduced-motion: reduce)");
const light = matches("(prefers-color-scheme: light)");

export const theme = computed(() =>
    view.value.theme === "auto" ? (light.value ? "light" : "dark") : view.value.theme,
);
export const look = computed(() => (theme.value === "light" ? LIGHT : DARK));
