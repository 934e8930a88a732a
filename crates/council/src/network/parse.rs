//! The parser of the network file. The error of a field names the line, the field, the expected and the given value.

use std::{collections::BTreeMap, time::Duration};

use silica_chain::{config::RuleChange, scilla::rules::Rules};
use silica_crypto::multisig::aggregate_keys;
use silica_protocol::{BlockNumber, ChainId, Gas, GasPrice, PublicKey, Qa, Timestamp, hex};
use toml::de::DeTable;

use super::{
    AccountsFile, BlockTiming, Member, MemberAddress, NetworkDraft, NetworkFile, NetworkFileError, Parameters,
    table::{Field, Lines, Table},
    unit,
};
use crate::bounds::{MAX_MEMBERS, MIN_MAX_BODY, max_shards};

/// Lowest number of members: a single member needs no network.
const MIN_MEMBERS: usize = 2;
/// Length of the longest name, in characters.
const MAX_NAME: usize = 64;
const NAME: &str = "1 to 64 lower-case letters, digits and hyphens";
const KEY: &str = "66 hexadecimal digits of a compressed point of secp256k1";
/// Gas of a payment, the lowest useful gas limit of a block (`NORMAL_TRAN_GAS`).
const PAYMENT_GAS: u64 = 50;

/// Collects the faults of a file, so that one pass reports all of them.
#[derive(Debug, Default)]
struct Faults(Vec<NetworkFileError>);

impl Faults {
    /// Returns the value of a field, or adds its fault.
    fn keep<T>(&mut self, read: Result<T, NetworkFileError>) -> Option<T> {
        read.map_err(|fault| self.0.push(fault)).ok()
    }
}

impl NetworkFile {
    /// Parses a network file, and verifies all proofs of possession.
    ///
    /// # Errors
    ///
    /// [`NetworkFileError`] names the line and the field of the first fault.
    pub fn parse(text: &str) -> Result<Self, NetworkFileError> {
        Self::check(text).map_err(first)
    }

    /// Parses a network file as [`NetworkFile::parse`] does, and reports every fault.
    ///
    /// # Errors
    ///
    /// At least one [`NetworkFileError`]. A fault can hide faults of fields that depend on its field.
    pub fn check(text: &str) -> Result<Self, Vec<NetworkFileError>> {
        let (parameters, members, addresses) = read(text, MIN_MEMBERS)?;
        Ok(Self { parameters, members, addresses })
    }
}

impl NetworkDraft {
    /// Parses a network file that can have fewer members than a network needs, and verifies their proofs of possession.
    ///
    /// # Errors
    ///
    /// [`NetworkFileError`] names the line and the field of the first fault.
    pub fn parse(text: &str) -> Result<Self, NetworkFileError> {
        let (parameters, members, _) = read(text, 0).map_err(first)?;
        Ok(Self { parameters, members })
    }
}

/// Returns the first of some faults.
fn first(faults: Vec<NetworkFileError>) -> NetworkFileError {
    faults.into_iter().next().expect("a rejected file has a fault")
}

/// The three parts of a file.
type Parts = (Parameters, Vec<Member>, Vec<MemberAddress>);

fn read(text: &str, least: usize) -> Result<Parts, Vec<NetworkFileError>> {
    let lines = Lines(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = lines.at(error.span().map_or(0, |span| span.start));
        vec![NetworkFileError::Syntax { line, reason: error.message().to_owned() }]
    })?;
    let mut faults = Faults::default();
    let mut file = Table::new("", 1, table.get_ref(), lines);
    let network = file.required("network", "a table");
    let network = faults.keep(network);
    let rule_changes = file.optional("rules-from").map_or_else(Vec::new, |field| rule_changes(&field, &mut faults));
    let parameters = network.as_ref().and_then(|field| {
        let table = faults.keep(field.table())?;
        parameters(table, rule_changes, &mut faults)
    });
    let member = match least {
        0 => file.optional("member"),
        _ => faults.keep(file.required("member", "tables, each under [[member]]")),
    };
    let before = faults.0.len();
    let members = match &member {
        Some(field) => members(field, least, parameters.as_ref(), &mut faults),
        None => Vec::new(),
    };
    let has_members = parameters.is_some() && faults.0.len() == before;
    if let (Some(network), Some(parameters)) = (&network, &parameters) {
        faults.keep(check_shards(network, parameters, members.len()));
    }
    // An address names a member, so it can be checked only if all members were read.
    let address = file.optional("address").filter(|_| has_members);
    let addresses = address.map_or_else(Vec::new, |field| addresses(&field, &members, &mut faults));
    faults.keep(file.finish());
    match parameters {
        Some(parameters) if faults.0.is_empty() => Ok((parameters, members, addresses)),
        _ => Err(faults.0),
    }
}

fn parameters(mut table: Table<'_>, rule_changes: Vec<RuleChange>, faults: &mut Faults) -> Option<Parameters> {
    let text = |field: Result<Field<'_>, _>| field.and_then(|field| name(&field));
    let network_name = faults.keep(text(table.required("name", NAME)));
    let field = table.required("chain-id", "a number from 1 to 65535");
    let chain_id = faults.keep(field.and_then(|field| field.number(1, u16::MAX)));
    let field = table.required("genesis-time", "microseconds since 1970");
    let genesis_time = faults.keep(field.and_then(|field| field.number(1, i64::MAX.unsigned_abs())));
    let field = table.required("shards", "a number of shards");
    let shards = faults.keep(field.and_then(|field| field.number(1, max_shards(MIN_MEMBERS))));
    let field = table.required("blocks-per-ds-epoch", "a number of at least 2");
    let blocks_per_ds_epoch = faults.keep(field.and_then(|field| field.number(2, u64::MAX)));
    let field = table.required("shard-gas-limit", "a number of at least 50");
    let shard_gas_limit = faults.keep(field.and_then(|field| gas_limit(&field)));
    let field = table.required("ds-gas-limit", "a number of at least 50");
    let ds_gas_limit = faults.keep(field.and_then(|field| gas_limit(&field)));
    let field = table.required("minimum-gas-price", "an amount of at least 1 Qa");
    let minimum_gas_price = faults.keep(field.and_then(|field| gas_price(&field)));
    let field = table.required("coinbase-reward", "an amount in Qa");
    let coinbase_reward = faults.keep(field.and_then(|field| field.amount("an amount in Qa")));
    let field = table.required("accounts", "a table with file and sha256");
    let accounts = faults.keep(field.and_then(|field| accounts(field.table()?)));
    let blocks = faults.keep(block_timing(&mut table));
    let drift = faults.keep(duration(&mut table, "drift", 2_000, 1, 10_000));
    let propose_timeout = faults.keep(duration(&mut table, "propose-timeout", 3_000, 10, 30_000));
    let max_body = faults.keep(max_body(&mut table));
    let scilla_rules = faults.keep(scilla_rules(&mut table));
    // After a fault in `blocks`, the parser does not know all options of block timing, and would reject valid options.
    if blocks.is_some() {
        faults.keep(table.finish());
    }
    Some(Parameters {
        name: network_name?,
        chain_id: ChainId::new(chain_id?),
        genesis_time: Timestamp::new(genesis_time?),
        shards: shards?,
        blocks_per_ds_epoch: blocks_per_ds_epoch?,
        shard_gas_limit: shard_gas_limit?,
        ds_gas_limit: ds_gas_limit?,
        minimum_gas_price: minimum_gas_price?,
        coinbase_reward: Qa::new(coinbase_reward?),
        accounts: accounts?,
        blocks: blocks?,
        drift: drift?,
        propose_timeout: propose_timeout?,
        max_body: max_body?,
        scilla_rules: scilla_rules?,
        rule_changes,
    })
}

/// Returns whether a text is a valid name of a network or of a member: 1 to 64 lower-case letters, digits and hyphens.
pub fn is_network_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn name(field: &Field<'_>) -> Result<String, NetworkFileError> {
    field.parse(NAME, |text| is_network_name(text).then(|| text.to_owned()))
}

fn key(field: &Field<'_>) -> Result<PublicKey, NetworkFileError> {
    field.parse(KEY, |text| text.parse().ok().filter(|key| aggregate_keys(&[*key]).is_ok()))
}

/// Reads `N` bytes, which the file has in hexadecimal digits.
fn digits<const N: usize>(field: &Field<'_>, expected: &str) -> Result<[u8; N], NetworkFileError> {
    field.parse(expected, |text| hex::decode(text).ok()?.try_into().ok())
}

fn gas_limit(field: &Field<'_>) -> Result<Gas, NetworkFileError> {
    // The sum of all limits of a block fits 64 bits, because there are fewer than 2^16 micro blocks.
    Ok(Gas::new(field.number(PAYMENT_GAS, u64::from(u32::MAX))?))
}

fn gas_price(field: &Field<'_>) -> Result<GasPrice, NetworkFileError> {
    const EXPECTED: &str = "an amount of at least 1 Qa";
    match field.amount(EXPECTED)? {
        0 => Err(field.wrong(EXPECTED)),
        price => Ok(GasPrice::new(Qa::new(price))),
    }
}

fn accounts(mut table: Table<'_>) -> Result<AccountsFile, NetworkFileError> {
    const PATH: &str = "a path";
    const DIGITS: &str = "64 hexadecimal digits";
    let path = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let accounts = AccountsFile {
        file: table.required("file", PATH)?.parse(PATH, path)?,
        sha256: digits(&table.required("sha256", DIGITS)?, DIGITS)?,
    };
    table.finish()?;
    Ok(accounts)
}

fn block_timing(table: &mut Table<'_>) -> Result<BlockTiming, NetworkFileError> {
    const EXPECTED: &str = "\"interval\" or \"on-demand\"";
    let is_on_demand = match table.optional("blocks") {
        None => false,
        Some(field) => match field.text(EXPECTED)? {
            "interval" => false,
            "on-demand" => true,
            _ => return Err(field.wrong(EXPECTED)),
        },
    };
    // Options of the other mode would have no effect, so they are rejected.
    let (timing, mode, without) = if is_on_demand {
        let max_idle = duration(table, "max-idle", 60_000, 1, 3_600_000)?;
        let min_gap = duration(table, "min-gap", 100, 0, 3_600_000)?;
        (BlockTiming::OnDemand { max_idle, min_gap }, "on-demand", &["interval"][..])
    } else {
        let interval = duration(table, "interval", 1_000, 1, 3_600_000)?;
        (BlockTiming::Interval(interval), "interval", &["max-idle", "min-gap"][..])
    };
    for name in without {
        if let Some(field) = table.optional(name) {
            return Err(field.wrong(format!("no value, because blocks is {mode:?}")));
        }
    }
    Ok(timing)
}

/// Reads a duration from `least` to `most` milliseconds. `default` is the value of a missing field.
fn duration(
    table: &mut Table<'_>,
    name: &'static str,
    default: u64,
    least: u64,
    most: u64,
) -> Result<Duration, NetworkFileError> {
    let Some(field) = table.optional(name) else { return Ok(Duration::from_millis(default)) };
    let range = Duration::from_millis(least)..=Duration::from_millis(most);
    let expected = format!("a duration from {least}ms to {most}ms, with the unit ms, s or m");
    field.parse(&expected, |text| unit::duration(text).filter(|duration| range.contains(duration)))
}

fn max_body(table: &mut Table<'_>) -> Result<u32, NetworkFileError> {
    const EXPECTED: &str = "a size from 256KiB to 16MiB, with the unit KiB or MiB";
    let Some(field) = table.optional("max-body") else { return Ok(4 << 20) };
    let range = MIN_MAX_BODY..=16 << 20;
    field.parse(EXPECTED, |text| u32::try_from(unit::size(text)?).ok().filter(|size| range.contains(size)))
}

const SCILLA_RULES: &str = "Scilla rules that this program supports, such as 0.13/3";

fn scilla_rules(table: &mut Table<'_>) -> Result<Rules, NetworkFileError> {
    let Some(field) = table.optional("scilla-rules") else { return Ok(Rules::V0_13_3) };
    field.parse(SCILLA_RULES, |text| text.parse().ok())
}

/// Returns the rule changes that have no fault.
fn rule_changes(field: &Field<'_>, faults: &mut Faults) -> Vec<RuleChange> {
    let Some(tables) = faults.keep(field.tables()) else { return Vec::new() };
    let mut least = 2;
    let change = |mut table: Table<'_>| {
        let block = table.required("block", "the number of a Tx block");
        let block = faults.keep(block.and_then(|field| field.number(least, u64::MAX)));
        let rules = table.required("scilla-rules", SCILLA_RULES);
        let scilla = faults.keep(rules.and_then(|field| field.parse(SCILLA_RULES, |text| text.parse().ok())));
        faults.keep(table.finish());
        let block = block?;
        // The block numbers of the changes ascend.
        least = block.saturating_add(1);
        Some(RuleChange { block: BlockNumber::new(block), scilla: scilla? })
    };
    tables.into_iter().filter_map(change).collect()
}

/// Returns the members that have no fault.
fn members(field: &Field<'_>, least: usize, parameters: Option<&Parameters>, faults: &mut Faults) -> Vec<Member> {
    const POSSESSION: &str = "128 hexadecimal digits of a proof of possession";
    const PEER: &str = "the peer id of an Ed25519 key";
    let Some(tables) = faults.keep(field.tables()) else { return Vec::new() };
    if !(least..=MAX_MEMBERS).contains(&tables.len()) {
        faults.keep(Err::<(), _>(field.error(format!("{least} to {MAX_MEMBERS} tables"), tables.len())));
        return Vec::new();
    }
    let (mut names, mut keys, mut peers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut member = |mut table: Table<'_>| {
        let fields = [("name", NAME), ("key", KEY), ("possession", POSSESSION), ("peer", PEER)];
        let [name_field, key_field, possession_field, peer_field] =
            fields.map(|(name, expected)| faults.keep(table.required(name, expected)));
        let named = name_field.as_ref().and_then(|field| faults.keep(name(field)));
        let key = key_field.as_ref().and_then(|field| faults.keep(key(field)));
        let possession = possession_field.as_ref().and_then(|field| faults.keep(digits::<64>(field, POSSESSION)));
        let peer = peer_field.as_ref().and_then(|field| faults.keep(field.parse(PEER, |text| text.parse().ok())));
        faults.keep(table.finish());
        let member = Member { name: named?, key: key?, possession: possession?.into(), peer: peer? };
        faults.keep(unique(&mut names, member.name.clone(), &name_field?, &member.name))?;
        faults.keep(unique(&mut keys, member.key, &key_field?, &member.name))?;
        faults.keep(unique(&mut peers, member.peer, &peer_field?, &member.name))?;
        // Without the name and the chain id, no proof can be verified.
        let Parameters { name: network, chain_id, .. } = parameters?;
        let verified = member.verify_possession(network, *chain_id).map_err(|error| {
            let expected = format!("a proof of this key and peer for the network {network:?} with chain id {chain_id}");
            possession_field.map(|field| field.error(expected, error))
        });
        match verified {
            Ok(()) => Some(member),
            Err(fault) => {
                faults.0.extend(fault);
                None
            }
        }
    };
    tables.into_iter().filter_map(&mut member).collect()
}

/// Rejects a value that an earlier member has.
fn unique<T: Ord>(
    known: &mut BTreeMap<T, String>,
    value: T,
    field: &Field<'_>,
    member: &str,
) -> Result<(), NetworkFileError> {
    match known.insert(value, member.to_owned()) {
        None => Ok(()),
        Some(other) => Err(field.error("a value of this member only", format!("the value of member {other:?}"))),
    }
}

/// Rejects a number of shards with which a co-signature message of this committee would be too long.
fn check_shards(network: &Field<'_>, parameters: &Parameters, members: usize) -> Result<(), NetworkFileError> {
    let most = max_shards(members);
    if parameters.shards <= most {
        return Ok(());
    }
    let field = network.table()?.required("shards", "a number of shards")?;
    Err(field.wrong(format!("at most {most} with {members} members")))
}

fn addresses(field: &Field<'_>, members: &[Member], faults: &mut Faults) -> Vec<MemberAddress> {
    let mut names = BTreeMap::new();
    let tables = faults.keep(field.tables()).unwrap_or_default();
    tables.into_iter().filter_map(|table| faults.keep(address(table, members, &mut names))).collect()
}

fn address(
    mut table: Table<'_>,
    members: &[Member],
    names: &mut BTreeMap<String, String>,
) -> Result<MemberAddress, NetworkFileError> {
    const MEMBER: &str = "the name of a member";
    const AGREEMENT: &str = "host:port";
    let name = table.required("name", MEMBER)?;
    let member = name.parse(MEMBER, |text| members.iter().position(|member| member.name == text))?;
    let text = name.text(MEMBER)?;
    let agreement = table.required("agreement", AGREEMENT)?;
    let agreement = agreement.parse(AGREEMENT, |text| is_host_and_port(text).then(|| text.to_owned()))?;
    table.finish()?;
    unique(names, text.to_owned(), &name, text)?;
    Ok(MemberAddress { member, agreement })
}

/// Returns whether a text is an IPv4 address, an IPv6 address in brackets or a host name, and a port above 0.
pub fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = |host: &str| {
        (1..=253).contains(&host.len())
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(host) => host.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_name(host),
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    is_host && is_port
}
