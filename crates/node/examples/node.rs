//! Starts a node in this process, reads a balance without a socket, and prints the URL for other clients.

#![expect(clippy::print_stdout, clippy::indexing_slicing, reason = "an example prints what it reads")]

use serde_json::Value;
use silica_node::Node;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::builder().start().await?;
    let rich = &node.accounts()[0];
    let balance: Value = node.request("GetBalance", [rich.address.to_string()]).await?;
    println!("{} has {} Qa at {}", rich.address.to_bech32(), balance["balance"], node.url());
    node.stop().await?;
    Ok(())
}
