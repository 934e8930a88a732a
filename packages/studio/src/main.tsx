// Starts the page: the connection to the node, the routes, and the frame.
import { render } from "preact";
import { readSettings } from "./node.ts";
import { connect } from "./rpc/socket.ts";
import { followRoutes } from "./router.ts";
import { followShortcuts } from "./shortcuts.ts";
import { Frame } from "./frame.tsx";
import { applyTheme } from "./theme.ts";

applyTheme();
followRoutes();
followShortcuts();
void readSettings();
connect();
render(<Frame />, document.getElementById("app")!);
