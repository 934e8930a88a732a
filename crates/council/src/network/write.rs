//! The text of the tables of a network file.

use std::{fmt, time::Duration};

use silica_chain::config::RuleChange;
use silica_protocol::hex;

use super::{BlockTiming, Member, MemberAddress, Parameters, milliseconds};

/// The table `[network]`, with each parameter, and the tables `[[rules-from]]`. The path of the accounts file is a
/// basic string of TOML.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[network]")?;
        writeln!(f, "name = \"{}\"", self.name)?;
        writeln!(f, "chain-id = {}", self.chain_id)?;
        writeln!(f, "genesis-time = {}", self.genesis_time.get())?;
        writeln!(f, "shards = {}", self.shards)?;
        writeln!(f, "blocks-per-ds-epoch = {}", self.blocks_per_ds_epoch)?;
        writeln!(f, "shard-gas-limit = {}", self.shard_gas_limit.get())?;
        writeln!(f, "ds-gas-limit = {}", self.ds_gas_limit.get())?;
        writeln!(f, "minimum-gas-price = \"{}\"", self.minimum_gas_price.get())?;
        writeln!(f, "coinbase-reward = \"{}\"", self.coinbase_reward)?;
        let sha256 = hex::encode(self.accounts.sha256);
        writeln!(f, "accounts = {{ file = {}, sha256 = \"{sha256}\" }}", Quoted(&self.accounts.file))?;
        match self.blocks {
            BlockTiming::Interval(interval) => {
                writeln!(f, "blocks = \"interval\"\ninterval = {}", Time(interval))?;
            }
            BlockTiming::OnDemand { max_idle, min_gap } => {
                let (max_idle, min_gap) = (Time(max_idle), Time(min_gap));
                writeln!(f, "blocks = \"on-demand\"\nmax-idle = {max_idle}\nmin-gap = {min_gap}")?;
            }
        }
        writeln!(f, "drift = {}", Time(self.drift))?;
        writeln!(f, "propose-timeout = {}", Time(self.propose_timeout))?;
        // Every valid size is a whole number of KiB, because the units are KiB and MiB.
        writeln!(f, "max-body = \"{}KiB\"", self.max_body >> 10)?;
        writeln!(f, "scilla-rules = \"{}\"", self.scilla_rules)?;
        self.rule_changes.iter().try_for_each(|RuleChange { block, scilla }| {
            writeln!(f, "\n[[rules-from]]\nblock = {block}\nscilla-rules = \"{scilla}\"")
        })
    }
}

/// The table `[[member]]`.
impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, key, possession, peer } = self;
        writeln!(f, "[[member]]\nname = \"{name}\"\nkey = \"{key}\"")?;
        writeln!(f, "possession = \"{possession}\"\npeer = \"{peer}\"")
    }
}

impl MemberAddress {
    /// Returns the table `[[address]]` of the member with this name.
    pub fn to_toml(&self, name: &str) -> String {
        format!("[[address]]\nname = \"{name}\"\nagreement = {}\n", Quoted(&self.agreement))
    }
}

/// A basic string of TOML.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                letter if letter.is_control() => write!(f, "\\u{:04x}", u32::from(letter))?,
                letter => write!(f, "{letter}")?,
            }
        }
        f.write_str("\"")
    }
}

/// A duration with its unit.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match milliseconds(self.0) {
            time if time > 0 && time % 1_000 == 0 => write!(f, "\"{}s\"", time / 1_000),
            time => write!(f, "\"{time}ms\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{network::NetworkFile, testing};

    /// Writes all tables of a file.
    fn text_of(file: &NetworkFile) -> String {
        let members = file.members().iter().map(|member| format!("\n{member}"));
        let addresses = file
            .addresses()
            .iter()
            .map(|address| format!("\n{}", address.to_toml(&file.members()[address.member].name)));
        std::iter::once(file.parameters().to_string()).chain(members).chain(addresses).collect()
    }

    #[test]
    fn written_tables_are_read_again() {
        let base = testing::network_file(4);
        let changes = [
            ("", ""),
            ("\"accounts.json\"", r#""a \"b\" \\ \u0007 é.json""#),
            ("\"1s\"\ndrift", "\"1500ms\"\ndrift"),
            ("blocks = \"interval\"\ninterval = \"1s\"", "blocks = \"on-demand\"\nmin-gap = \"0ms\""),
            ("\"4MiB\"", "\"257KiB\""),
            ("[[member]]", "[[rules-from]]\nblock = 9\nscilla-rules = \"latest/3\"\n[[member]]"),
        ];
        for (old, new) in changes {
            let file = NetworkFile::parse(&base.replacen(old, new, 1)).unwrap();
            assert_eq!(NetworkFile::parse(&text_of(&file)), Ok(file), "{new}");
        }
    }
}
