// The form for a token. It says why a token cannot be used, and keeps one only after the server took it.
import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { forgetToken, offerToken } from "../data/api";

const GONE = "The server no longer accepts the token of this tab.";

export function TokenForm({ button, onToken }: { button: string; onToken: () => void }) {
    const [gone] = useState(() => (forgetToken() ? GONE : ""));
    const problem = useSignal(gone);
    const asking = useSignal(false);
    const offer = async (value: string) => {
        asking.value = true;
        // So that the same words are read aloud again.
        problem.value = "";
        problem.value = await offerToken(value);
        asking.value = false;
        if (!problem.value) onToken();
    };
    return (
        <main class="token">
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    const value = String(new FormData(event.currentTarget).get("token") ?? "").trim();
                    if (value && !asking.value) offer(value);
                }}
            >
                <h1>liqdata</h1>
                <p>This server answers only with a token.</p>
                <label>
                    <span>token</span>
                    <input
                        type="password"
                        name="token"
                        autocomplete="off"
                        required
                        aria-invalid={problem.value !== ""}
                        aria-describedby="token-problem"
                    />
                </label>
                <p id="token-problem" class="trouble" role="alert">
                    {problem.value}
                </p>
                <p class="faint">It is kept in this tab until you close it, and is never part of the address.</p>
                <button type="submit" disabled={asking.value}>
                    {button}
                </button>
            </form>
        </main>
    );
}
