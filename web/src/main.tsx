import { render } from "preact";
import { Page } from "./panels/page";
import { start } from "./view/feed";
import { follow } from "./view/state";

start();
follow();
const root = document.getElementById("page");
if (root) render(<Page />, root);
