//! The page for browsers at the URL of the node. It describes the node, and has example requests.

use std::fmt::Write as _;

use silica_protocol::{BlockNumber, Version};

use crate::banner::Banner;

/// The constant values of the page.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    version: Version,
    url: String,
    websocket: String,
}

impl Home {
    pub(crate) fn new(banner: &Banner) -> Self {
        Self { version: banner.version, url: banner.local_url(), websocket: banner.local_websocket_url() }
    }

    /// Returns the page as HTML. The page has no links to other hosts.
    pub(crate) fn html(&self, latest: BlockNumber) -> String {
        let Self { version, url, websocket } = self;
        let mut page = String::from(HEAD);
        let mut row = |name: &str, value: &str| {
            let (name, value) = (escaped(name), escaped(value));
            writeln!(page, "<tr><th>{name}</th><td><code>{value}</code></td></tr>")
                .expect("strings accept every write");
        };
        row("JSON-RPC", url);
        row("WebSocket", websocket);
        row("Chain id", &version.chain_id().to_string());
        row("Transaction version", &version.to_string());
        row("Latest block", &latest.to_string());
        row("Node", concat!("silica ", env!("CARGO_PKG_VERSION")));
        page.push_str(MIDDLE);
        for (name, method, params) in EXAMPLES {
            let request = format!(r#"{{"id":"1","jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            let line = format!("curl -s -H 'content-type: application/json' -d '{request}' {url}");
            writeln!(page, "<p>{}</p>\n<pre>{}</pre>", escaped(name), escaped(&line))
                .expect("strings accept every write");
        }
        page.push_str(TAIL);
        page
    }
}

/// Example requests: purpose, method and parameters.
const EXAMPLES: [(&str, &str, &str); 2] = [
    ("The latest block and the state of the network:", "GetBlockchainInfo", "[]"),
    ("All methods with their parameters and results (OpenRPC):", "rpc.discover", "[]"),
];

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Silica node</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }
th { text-align: left; padding-right: 2em; font-weight: normal; }
pre { background: #eee; color: #000; padding: .7em; overflow-x: auto; }
</style>
</head>
<body>
<h1>Silica</h1>
<p>This is a Zilliqa node. It answers JSON-RPC requests that are sent with POST to any path of this address.</p>
<table>
";

const MIDDLE: &str = "</table>
<p>A wallet or an SDK needs the JSON-RPC URL and the chain id. Put the transaction version into each transaction.
From another machine or through a proxy, use the address of this page.</p>
";

const TAIL: &str = "<p>On the command line: <code>silica --help</code>.</p>
</body>
</html>
";

/// Returns the text with escapes for HTML content and attributes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use silica_protocol::ChainId;

    use super::*;

    #[test]
    fn page_has_the_data_for_a_wallet_escaped() {
        let home = Home {
            version: Version::of_chain(ChainId::new(222)),
            url: "http://127.0.0.1:5555".to_owned(),
            websocket: "ws://<b>&\"'".to_owned(),
        };
        let page = home.html(BlockNumber::new(7));
        for words in [
            "<code>http://127.0.0.1:5555</code>",
            "<code>ws://&lt;b&gt;&amp;&quot;&#39;</code>",
            "<code>222</code>",
            "<code>14548993</code>",
            "<code>7</code>",
            "curl -s -H &#39;content-type: application/json&#39;",
            "&quot;method&quot;:&quot;rpc.discover&quot;",
        ] {
            assert!(page.contains(words), "{words} is missing in {page}");
        }
        assert!(!page.contains("<script") && !page.contains("//<b>") && !page.contains("src="), "{page}");
        assert!(page.len() < 4_000, "{}", page.len());
    }
}
