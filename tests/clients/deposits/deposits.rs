//! Scans Tx blocks for deposits: deposits URL FILE FIRST-BLOCK ADDRESS...

use std::{collections::HashSet, env, error::Error, fs, path::Path, thread, time::Duration};

use serde_json::{Value, json};
use ureq::Agent;

fn plain(address: &str) -> String {
    address.to_lowercase().trim_start_matches("0x").to_owned()
}

fn call(agent: &Agent, url: &str, method: &str, params: &[String]) -> Result<Value, Box<dyn Error>> {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
    let mut response = agent.post(url).send_json(&request)?;
    let mut answer: Value = response.body_mut().with_config().limit(1 << 30).read_json()?;
    let error = answer.get("error").map(|error| format!("{method}: {error}").into());
    error.map_or_else(|| Ok(answer["result"].take()), Err)
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("expected a text, got {value}"))
}

fn number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("expected a number, got {value}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [url, file, first, addresses @ ..] = &args[..] else { return Err("URL FILE FIRST-BLOCK ADDRESS...".into()) };
    let watched: HashSet<String> = addresses.iter().map(|address| plain(address)).collect();
    let agent: Agent = Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).build().into();
    // The next block, the hash of the block before it, and all deposits.
    let mut state = json!({"next": first.parse::<u64>()?, "parent": null, "deposits": {}});
    if Path::new(file).exists() {
        state = serde_json::from_slice(&fs::read(file)?)?;
    }
    loop {
        let latest: u64 = text(&call(&agent, url, "GetLatestTxBlock", &[])?["header"]["BlockNum"])?.parse()?;
        for next in number(&state["next"])?..=latest {
            let block = call(&agent, url, "GetTxBlock", &[next.to_string()])?;
            let (header, parent) = (&block["header"], &state["parent"]);
            if text(&header["BlockNum"])?.parse() != Ok(next)
                || !(parent.is_null() || *parent == header["PrevBlockHash"])
            {
                return Err(format!("block {next} does not follow block {parent}").into());
            }
            let mut transactions = Vec::new();
            for page in 0..number(&header["NumPages"])? {
                let page = call(&agent, url, "GetTxnBodiesForTxBlockEx", &[next.to_string(), page.to_string()])?;
                transactions.extend(page["Transactions"].as_array().ok_or("expected an array")?.iter().cloned());
            }
            if transactions.len() as u64 != number(&header["NumTxns"])? {
                return Err(format!("block {next} lacks transactions").into());
            }
            for transaction in transactions.iter().filter(|transaction| transaction["receipt"]["success"] == true) {
                let messages = transaction["receipt"]["transitions"].as_array().into_iter().flatten();
                let messages =
                    messages.map(|transition| (&transition["msg"]["_recipient"], &transition["msg"]["_amount"]));
                let payment = (&transaction["toAddr"], &transaction["amount"]);
                for (index, (recipient, amount)) in [payment].into_iter().chain(messages).enumerate() {
                    let (address, amount) = (plain(text(recipient)?), text(amount)?);
                    if watched.contains(&address) && amount.parse::<u128>()? > 0 {
                        let key = format!("{}:{index}", text(&transaction["ID"])?);
                        state["deposits"][key] = json!({"address": address, "amount": amount, "block": next});
                    }
                }
            }
            state["next"] = json!(next + 1);
            state["parent"] = block["body"]["BlockHash"].clone();
            let new = format!("{file}.new");
            let stored = fs::File::create(&new)?;
            serde_json::to_writer(&stored, &state)?;
            stored.sync_all()?;
            fs::rename(&new, file)?;
        }
        thread::sleep(Duration::from_secs(1));
    }
}
