// Starts the page: the connection to the node, the routes, and the frame.
import { effect } from "@preact/signals";
import { render } from "preact";
import { readSettings } from "./node.ts";
import { connect, generation } from "./rpc/socket.ts";
import { followRoutes } from "./router.ts";
import { followShortcuts } from "./shortcuts.ts";
import { Frame } from "./frame.tsx";
import { applyTheme } from "./theme.ts";

applyTheme();
followRoutes();
followShortcuts();
// A revert or a restart of the node can change its settings.
effect(() => {
  generation.value;
  void readSettings();
});
connect();
render(<Frame />, document.getElementById("app")!);
