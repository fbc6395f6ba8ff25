// Colours of both themes. Longs are blue and shorts orange, as in the plots of the package.
export interface Look {
    paper: boolean;
    ground: string;
    plane: string;
    text: string;
    faint: string;
    line: string;
    up: string;
    down: string;
    edge: string;
    long: string;
    short: string;
    warn: string;
    /** The current price, and text on it. */
    now: string;
    onNow: string;
    /** Little-endian RGBA of cells that are not known. */
    unknown: number;
    hatch: string;
    plate: string;
}

export const DARK: Look = {
    paper: false,
    ground: "#0b0d12",
    plane: "#150826",
    text: "#e6e8ec",
    faint: "#9aa3b2",
    line: "#232833",
    up: "#f4f5f7",
    down: "#0b0d12",
    edge: "#f4f5f7",
    long: "#5aa9f0",
    short: "#ff9d42",
    warn: "#f2b53c",
    now: "#ff5fa2",
    onNow: "#14060d",
    unknown: 0x80605850,
    hatch: "rgba(190,198,212,0.55)",
    plate: "rgba(5,5,10,0.72)",
};

export const LIGHT: Look = {
    paper: true,
    ground: "#ffffff",
    plane: "#fdfdf6",
    text: "#14171c",
    faint: "#545d6b",
    line: "#dfe2e8",
    up: "#ffffff",
    down: "#14171c",
    edge: "#14171c",
    long: "#1463b0",
    short: "#b35300",
    warn: "#8a5a00",
    now: "#b4145f",
    onNow: "#ffffff",
    unknown: 0x60b0a8a0,
    hatch: "rgba(60,68,82,0.55)",
    plate: "rgba(255,255,255,0.8)",
};

export const FONT = "system-ui, 'DejaVu Sans', sans-serif";
