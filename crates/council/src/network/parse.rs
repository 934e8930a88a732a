//! The parser of the network file. Each error names line, field, expected and given value.

use std::{collections::BTreeMap, time::Duration};

use silica_crypto::multisig::aggregate_keys;
use silica_protocol::{ChainId, Gas, GasPrice, PublicKey, Qa, Timestamp, hex};
use toml::de::DeTable;

use super::{
    AccountsFile, BlockTiming, Member, MemberAddress, NetworkFile, NetworkFileError, Parameters,
    table::{Field, Lines, Table},
    unit,
};
use crate::bounds::{MAX_MEMBERS, max_shards};

/// Lowest number of members: a single member needs no network.
const MIN_MEMBERS: usize = 2;
/// Length of the longest name, in characters.
const MAX_NAME: usize = 64;
const NAME: &str = "1 to 64 lower-case letters, digits and hyphens";
const KEY: &str = "66 hexadecimal digits of a compressed point of secp256k1";
const HOUR: Duration = Duration::from_hours(1);
/// Gas of a payment, the lowest useful gas limit of a block (`NORMAL_TRAN_GAS`).
const PAYMENT_GAS: u64 = 50;

impl NetworkFile {
    /// Parses a network file, and verifies all proofs of possession.
    ///
    /// # Errors
    ///
    /// [`NetworkFileError`] names the line and the field of the first fault.
    pub fn parse(text: &str) -> Result<Self, NetworkFileError> {
        let lines = Lines(text);
        let table = DeTable::parse(text).map_err(|error| NetworkFileError::Syntax {
            line: lines.at(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        let mut file = Table::new("", 1, table.get_ref(), lines);
        let network = file.required("network", "a table")?;
        let parameters = parameters(network.table()?)?;
        let field = file.required("member", "tables, each under [[member]]")?;
        let members = members(&field, &parameters)?;
        check_shards(&network, &parameters, members.len())?;
        let addresses = file.optional("address").map_or_else(|| Ok(Vec::new()), |field| addresses(&field, &members))?;
        file.finish()?;
        Ok(Self { parameters, members, addresses })
    }
}

fn parameters(mut table: Table<'_>) -> Result<Parameters, NetworkFileError> {
    let parameters = Parameters {
        name: name(&table.required("name", NAME)?)?,
        chain_id: ChainId::new(table.required("chain-id", "a number from 1 to 65535")?.number(1, u16::MAX)?),
        genesis_time: Timestamp::new(
            table.required("genesis-time", "microseconds since 1970")?.number(1, i64::MAX.unsigned_abs())?,
        ),
        genesis_key: key(&table.required("genesis-key", KEY)?)?,
        shards: table.required("shards", "a number of shards")?.number(1, max_shards(MIN_MEMBERS))?,
        blocks_per_ds_epoch: table.required("blocks-per-ds-epoch", "a number of at least 2")?.number(2, u64::MAX)?,
        shard_gas_limit: gas_limit(&table.required("shard-gas-limit", "a number of at least 50")?)?,
        ds_gas_limit: gas_limit(&table.required("ds-gas-limit", "a number of at least 50")?)?,
        minimum_gas_price: gas_price(&table.required("minimum-gas-price", "an amount of at least 1 Qa")?)?,
        coinbase_reward: Qa::new(table.required("coinbase-reward", "an amount in Qa")?.amount("an amount in Qa")?),
        accounts: accounts(table.required("accounts", "a table with file and sha256")?.table()?)?,
        blocks: block_timing(&mut table)?,
        drift: duration(&mut table, "drift", 2_000, 1, 10_000)?,
        propose_timeout: duration(&mut table, "propose-timeout", 3_000, 10, 30_000)?,
        max_body: max_body(&mut table)?,
    };
    table.finish()?;
    Ok(parameters)
}

fn name(field: &Field<'_>) -> Result<String, NetworkFileError> {
    let is_valid = |text: &str| {
        (1..=MAX_NAME).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    field.parse(NAME, |text| is_valid(text).then(|| text.to_owned()))
}

fn key(field: &Field<'_>) -> Result<PublicKey, NetworkFileError> {
    field.parse(KEY, |text| text.parse().ok().filter(|key| aggregate_keys(&[*key]).is_ok()))
}

/// Reads bytes of a fixed number in hexadecimal digits.
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
    let field = table.optional("blocks");
    let mode = field.as_ref().map_or(Ok("interval"), |field| field.text(EXPECTED))?;
    // Options of the other mode would have no effect, so they are rejected.
    let (timing, without) = match (mode, field) {
        ("interval", _) => {
            let interval = duration(table, "interval", 1_000, 1, 3_600_000)?;
            (BlockTiming::Interval(interval), &["max-idle", "min-gap"][..])
        }
        ("on-demand", _) => {
            let max_idle = duration(table, "max-idle", 60_000, 1, 3_600_000)?;
            let min_gap = duration(table, "min-gap", 100, 0, 3_600_000)?;
            (BlockTiming::OnDemand { max_idle, min_gap }, &["interval"][..])
        }
        (_, Some(field)) => return Err(field.wrong(EXPECTED)),
        (_, None) => (BlockTiming::Interval(HOUR), &[][..]),
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
    const EXPECTED: &str = "a size from 64KiB to 16MiB, with the unit KiB or MiB";
    let Some(field) = table.optional("max-body") else { return Ok(4 << 20) };
    let range = 64 << 10..=16 << 20;
    field.parse(EXPECTED, |text| u32::try_from(unit::size(text)?).ok().filter(|size| range.contains(size)))
}

fn members(field: &Field<'_>, parameters: &Parameters) -> Result<Vec<Member>, NetworkFileError> {
    let tables = field.tables()?;
    if !(MIN_MEMBERS..=MAX_MEMBERS).contains(&tables.len()) {
        return Err(field.error(format!("{MIN_MEMBERS} to {MAX_MEMBERS} tables"), tables.len()));
    }
    let mut members: Vec<Member> = Vec::new();
    let (mut names, mut keys, mut peers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for mut table in tables {
        const POSSESSION: &str = "128 hexadecimal digits of a proof of possession";
        const PEER: &str = "the peer id of an Ed25519 key";
        let fields = [("name", NAME), ("key", KEY), ("possession", POSSESSION), ("peer", PEER)];
        let [name_field, key_field, possession_field, peer_field] =
            fields.map(|(name, expected)| table.required(name, expected));
        let (name_field, key_field, possession_field, peer_field) =
            (name_field?, key_field?, possession_field?, peer_field?);
        let member = Member {
            name: name(&name_field)?,
            key: key(&key_field)?,
            possession: digits(&possession_field, POSSESSION)?.into(),
            peer: peer_field.parse(PEER, |text| text.parse().ok())?,
        };
        table.finish()?;
        unique(&mut names, member.name.clone(), &name_field, &member.name)?;
        unique(&mut keys, member.key, &key_field, &member.name)?;
        unique(&mut peers, member.peer, &peer_field, &member.name)?;
        member.verify_possession(&parameters.name, parameters.chain_id).map_err(|error| {
            let network = (&parameters.name, parameters.chain_id);
            possession_field.error(
                format!("a proof of this key and peer for the network {:?} with chain id {}", network.0, network.1),
                error,
            )
        })?;
        members.push(member);
    }
    Ok(members)
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

fn addresses(field: &Field<'_>, members: &[Member]) -> Result<Vec<MemberAddress>, NetworkFileError> {
    let (mut addresses, mut names) = (Vec::new(), BTreeMap::new());
    for mut table in field.tables()? {
        const MEMBER: &str = "the name of a member";
        const AGREEMENT: &str = "host:port";
        const STREAM: &str = "a URL that begins with http:// or https://";
        let name = table.required("name", MEMBER)?;
        let member = name.parse(MEMBER, |text| members.iter().position(|member| member.name == text))?;
        let text = name.text(MEMBER)?;
        let agreement = table.required("agreement", AGREEMENT)?;
        let agreement = agreement.parse(AGREEMENT, |text| is_host_and_port(text).then(|| text.to_owned()))?;
        let stream = table.optional("stream");
        let stream =
            stream.map(|field| field.parse(STREAM, |text| is_url(text).then(|| text.to_owned()))).transpose()?;
        table.finish()?;
        unique(&mut names, text.to_owned(), &name, text)?;
        addresses.push(MemberAddress { member, agreement, stream });
    }
    Ok(addresses)
}

/// Returns whether a text is an IPv4 address, an IPv6 address in brackets or a host name, and a port above 0.
fn is_host_and_port(text: &str) -> bool {
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

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && rest.bytes().all(|byte| byte.is_ascii_graphic())
    })
}
