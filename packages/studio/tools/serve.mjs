// Serves the page for development: `npm run dev -- http://127.0.0.1:5555 [PORT]`. Each load of the page builds it again.
// Requests of JSON-RPC, of metrics and of the WebSocket go to the node. Without PORT, the system selects one.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const node = new URL(process.argv[2] ?? "http://127.0.0.1:5555");
const port = Number(process.argv[3] ?? 0);
const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const dist = file("../../../crates/studio/dist/");
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const types = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", txt: "text/plain" };

const build = () => new Promise((resolve, reject) => {
  execFile(process.execPath, [file("build.mjs")], (error, output, errors) => (error ? reject(errors || output) : resolve()));
});

const server = createServer(async (incoming, response) => {
  const { pathname } = new URL(incoming.url, "http://localhost");
  if (incoming.method === "POST" || pathname === "/metrics") {
    const forward = request(new URL(pathname, node), { method: incoming.method, headers: { ...incoming.headers, host: node.host, origin: node.origin } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forward.on("error", () => response.writeHead(502).end());
    incoming.pipe(forward);
    return;
  }
  const name = pathname.match(/^\/studio\/([\w.-]*)$/)?.[1];
  if (name === undefined) return response.writeHead(307, { location: "studio/" }).end();
  try {
    if (name === "") await build();
    const bytes = gunzipSync(await readFile(`${dist}${name || "index.html"}.gz`));
    const type = types[name.split(".").pop()] ?? "text/html";
    response.writeHead(200, { "content-type": `${type}; charset=utf-8`, "content-security-policy": policy }).end(bytes);
  } catch (error) {
    response.writeHead(404, { "content-type": "text/plain" }).end(String(error));
  }
});
server.on("upgrade", (incoming, socket) => {
  const upstream = connect(Number(node.port), node.hostname, () => {
    const headers = Object.entries({ ...incoming.headers, host: node.host, origin: node.origin });
    upstream.write(`GET / HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
    upstream.pipe(socket).pipe(upstream);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("error", () => upstream.destroy());
});
server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/studio/`));
