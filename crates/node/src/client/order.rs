//! Submission of a transaction. The client gets missing values from the node, signs and submits the transaction, and
//! waits for its block.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use clap::{Args, value_parser};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use silica_crypto::KeyPair;
use silica_protocol::{
    Address, ChainId, Gas, GasPrice, Nonce, Qa, Transaction, TxHash, UnsignedTransaction, Version,
    rpc::{
        account::Balance,
        error::{RpcError, RpcErrorCode},
        text::{Dec, Hex},
        transaction::TransactionRequest,
    },
};
use tokio::time::{sleep, timeout};

use super::{
    Answer,
    error::ClientError,
    key::KeyArgs,
    node::{NodeArgs, Rpc, is_unknown, read, reason, refused},
    receipt::{Executed, in_zil},
    rows::Rows,
    url::NodeUrl,
    values::both_forms,
};

/// Time between two queries for the status of a transaction.
const PAUSE: Duration = Duration::from_millis(300);

/// Maximum gas price without `--gas-price`, in Qa: ten times the price of the main network. Without this limit, a false
/// node could make the user pay any price.
const MAX_DEFAULT_PRICE: Qa = Qa::new(20_000_000_000);

/// Options of a transaction. The client gets the values of absent options from the node.
#[derive(Clone, Debug, Args)]
pub(crate) struct OrderArgs {
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
    /// The key that signs the transaction.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Nonce of the transaction [default: the highest nonce of the sender's executed and pending transactions, plus 1].
    #[arg(long, value_name = "N")]
    pub nonce: Option<u64>,
    /// Gas price with its unit, such as 2000li [default: the minimum gas price of the node, if this price is at most
    /// 0.02 ZIL].
    #[arg(long, value_name = "PRICE", value_parser = Qa::parse)]
    pub gas_price: Option<Qa>,
    /// Gas limit in gas units [default for a payment: the estimate of the node. Default for a call or a deployment: the
    /// estimate of the node plus 10 percent. If the node has no estimates: 50 for a payment, 10000 for a call, and
    /// 50000 for a deployment].
    #[arg(long, value_name = "UNITS")]
    pub gas_limit: Option<u64>,
    /// Chain id of the network [default: the chain id of the node, unless it is 1, the main network].
    #[arg(long, value_name = "ID")]
    pub chain_id: Option<ChainId>,
    /// Time to wait for the block of the transaction, in seconds. With 0, the command does not wait.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = value_parser!(u64).range(0..=86_400))]
    pub wait: u64,
}

/// The part of a transaction that depends on the command: recipient, amount and contract data.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The recipient; the null address for a deployment.
    pub(super) to: Address,
    pub(super) amount: Qa,
    pub(super) code: String,
    pub(super) data: String,
}

impl Order {
    /// Gas of a payment, in gas units.
    const PAYMENT: u64 = 50;
    /// Gas limit of a call for a node without estimates, in gas units.
    const CALL: u64 = 10_000;
    /// Gas limit of a deployment for a node without estimates, in gas units.
    const DEPLOYMENT: u64 = 50_000;

    fn is_payment(&self) -> bool {
        self.code.is_empty() && self.data.is_empty()
    }

    /// Returns the gas limit for a node without estimates.
    fn usual_gas(&self) -> Gas {
        Gas::new(match (self.code.is_empty(), self.is_payment()) {
            (_, true) => Self::PAYMENT,
            (true, false) => Self::CALL,
            (false, false) => Self::DEPLOYMENT,
        })
    }
}

/// Values that the transactions of one account have in common, and the next nonce.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    sender: Address,
    chain: ChainId,
    gas_price: GasPrice,
    nonce: Nonce,
}

impl Terms {
    /// Collects the values of the options, and gets the absent values from the node.
    pub(super) async fn find(args: &OrderArgs, key: &KeyPair) -> Result<Self, ClientError> {
        let (rpc, sender) = (args.node.rpc(), key.address());
        let chain = match args.chain_id {
            Some(chain) => chain,
            None => without_confirmation(rpc.figure("GetNetworkId").await?, rpc.url)?,
        };
        args.key.check_network(rpc.url, chain)?;
        let gas_price = match args.gas_price {
            Some(price) => GasPrice::new(price),
            None => fair(rpc.figure("GetMinimumGasPrice").await?)?,
        };
        let nonce = match args.nonce {
            Some(nonce) => nonce,
            None => next_nonce(&rpc, &sender).await?,
        };
        Ok(Self { sender, chain, gas_price, nonce: Nonce::new(nonce) })
    }
}

/// Returns the chain id that a node reports, and rejects the id of the main network. Otherwise a false node could get a
/// signature for the main network from a user of a test network.
fn without_confirmation(chain: ChainId, url: &NodeUrl) -> Result<ChainId, ClientError> {
    if chain == ChainId::MAINNET { Err(ClientError::MainNetwork { url: url.to_string() }) } else { Ok(chain) }
}

/// Returns the given minimum gas price of a node. Rejects a price above [`MAX_DEFAULT_PRICE`].
fn fair(price: GasPrice) -> Result<GasPrice, ClientError> {
    if price.get() <= MAX_DEFAULT_PRICE {
        Ok(price)
    } else {
        Err(ClientError::Dear { price: price.get(), most: MAX_DEFAULT_PRICE })
    }
}

/// Gets the highest nonce of the sender's executed and pending transactions, plus 1.
async fn next_nonce(rpc: &Rpc<'_>, sender: &Address) -> Result<u64, ClientError> {
    const COUNT: &str = "eth_getTransactionCount";
    const BALANCE: &str = "GetBalance";
    let last = match rpc.try_ask(COUNT, &[format!("0x{sender}").as_str(), "pending"]).await? {
        Ok(answer) => {
            let text: String = read(COUNT, &answer)?;
            let count = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            count.ok_or_else(|| ClientError::answer(COUNT, &format!("expected a hexadecimal number, got {text:?}")))?
        }
        // A node without this method does not report pending transactions. The next nonce then follows the used nonces.
        Err(error) if error.code == RpcErrorCode::METHOD_NOT_FOUND => {
            match rpc.try_ask(BALANCE, &[sender.to_string()]).await? {
                Ok(answer) => read::<Balance>(BALANCE, &answer)?.nonce,
                // A missing account has sent no transaction.
                Err(error) if is_unknown(&error) => 0,
                Err(error) => return Err(refused(BALANCE, &error)),
            }
        }
        Err(error) => return Err(refused(COUNT, &error)),
    };
    last.checked_add(1).ok_or_else(|| ClientError::answer(COUNT, &"the account has no nonce left"))
}

/// Signs and submits a transaction, and waits for its block. With `--wait 0`, does not wait.
pub(super) async fn carry_out(
    args: &OrderArgs,
    key: &KeyPair,
    terms: Terms,
    order: Order,
) -> Result<Answer, ClientError> {
    const METHOD: &str = "CreateTransaction";
    let rpc = args.node.rpc();
    let gas_limit = match args.gas_limit {
        Some(limit) => Gas::new(limit),
        None => estimate(&rpc, &terms, &order).await?,
    };
    let amount = order.amount;
    let transaction = signed(key, &terms, gas_limit, order);
    let (hash, contract) = (transaction.hash(), transaction.contract_address());
    // After the request, the node may have accepted the transaction even if the client gets an error. The error
    // therefore has the hash and the nonce.
    let unsure = |source: ClientError| source.after_sending(hash, terms.nonce);
    let taken =
        match rpc.try_ask(METHOD, &[TransactionRequest { transaction, priority: false }]).await.map_err(unsure)? {
            Ok(taken) => taken,
            // A node that fails or is paused may have the transaction in its pool.
            Err(error) if error.code == RpcErrorCode::INTERNAL_ERROR => return Err(unsure(refused(METHOD, &error))),
            Err(error) => {
                let reason = with_figures(&rpc, &terms, amount, &error).await;
                return Err(ClientError::Refused { method: METHOD.to_owned(), reason });
            }
        };
    let taken: Taken = read(METHOD, &taken).map_err(unsure)?;
    if taken.id.0 != hash {
        let other = format!("expected the hash {hash}, got {}", taken.id.0);
        return Err(unsure(ClientError::answer(METHOD, &other)));
    }
    if args.wait == 0 {
        return Ok(sent(hash, contract, args.node.json).with_sent(hash));
    }
    let transaction = wait(&rpc, hash, Duration::from_secs(args.wait)).await.map_err(unsure)?;
    Ok(executed(&transaction, hash, contract, args.node.json).map_err(unsure)?.with_sent(hash))
}

/// The part of the response of `CreateTransaction` that the client needs.
#[derive(Deserialize)]
struct Taken {
    #[serde(rename = "TranID")]
    id: Hex<TxHash>,
}

/// Returns the gas limit for a transaction: the estimate of the node, plus 10 % for a deployment or a call. If the node
/// has no estimates, returns a fixed limit.
async fn estimate(rpc: &Rpc<'_>, terms: &Terms, order: &Order) -> Result<Gas, ClientError> {
    const METHOD: &str = "silica_estimateGas";
    let Order { to, amount, code, data } = order;
    let request = json!({
        "senderAddr": terms.sender.to_string(), "toAddr": to.to_string(), "amount": amount.to_string(),
        "gasPrice": terms.gas_price.to_string(), "code": code, "data": data,
    });
    match rpc.try_ask(METHOD, &[request]).await? {
        Ok(answer) => {
            let Estimate { gas_limit: Dec(limit) } = read(METHOD, &answer)?;
            // The state can change before the execution. A payment always needs the same gas.
            let more = if order.is_payment() { 0 } else { limit.get() / 10 };
            Ok(Gas::new(limit.get().saturating_add(more)))
        }
        Err(error) if error.code == RpcErrorCode::METHOD_NOT_FOUND => Ok(order.usual_gas()),
        // This error comes from the node, and does not mean that the transaction would fail.
        Err(error) if [RpcErrorCode::INTERNAL_ERROR, RpcErrorCode::SERVER_ERROR].contains(&error.code) => {
            Err(refused(METHOD, &error))
        }
        Err(error) => Err(ClientError::WouldFail { reason: with_figures(rpc, terms, *amount, &error).await }),
    }
}

/// Returns the error of the node as text. If the sender has too little money, the text also has the balance of the
/// sender, the amount and the gas price.
async fn with_figures(rpc: &Rpc<'_>, terms: &Terms, amount: Qa, error: &RpcError) -> String {
    const BALANCE: &str = "GetBalance";
    const NO_MONEY: &str = "Insufficient funds";
    let reason = reason(error);
    if !error.message.starts_with(NO_MONEY) {
        return reason;
    }
    match rpc.get::<Balance>(BALANCE, &[terms.sender.to_string()]).await {
        Ok(Balance { balance: Dec(balance), .. }) => {
            let [has, pays, price] = [balance, amount, terms.gas_price.get()].map(in_zil);
            format!("{reason}; the account has {has}, and must pay {pays}, and {price} for each gas unit")
        }
        // Without the balance, the text has only the reason.
        Err(_) => reason,
    }
}

/// The part of the response of `silica_estimateGas` that the client needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Estimate {
    gas_limit: Dec<Gas>,
}

fn signed(key: &KeyPair, terms: &Terms, gas_limit: Gas, order: Order) -> Transaction {
    let Order { to, amount, code, data } = order;
    let transaction = UnsignedTransaction {
        version: Version::of_chain(terms.chain),
        nonce: terms.nonce,
        to,
        amount,
        gas_price: terms.gas_price,
        gas_limit,
        code,
        data,
        sender_key: key.public_key(),
    };
    transaction.sign(key).expect("the bytes of a transaction are not empty")
}

/// A sent transaction, as `--json` prints it.
#[derive(Serialize)]
struct Report<'a> {
    hash: String,
    /// The address of the deployed contract; `None` for other transactions.
    contract: Option<String>,
    /// The response of the node to `GetTransaction`; `None` if the command did not wait.
    transaction: Option<&'a RawValue>,
}

impl<'a> Report<'a> {
    fn new(hash: TxHash, contract: Option<Address>, transaction: Option<&'a RawValue>) -> Self {
        Self { hash: hash.to_string(), contract: contract.map(|address| format!("0x{address}")), transaction }
    }
}

/// Returns the report of a transaction whose block the command does not wait for.
fn sent(hash: TxHash, contract: Option<Address>, is_json: bool) -> Answer {
    if is_json {
        return Answer::json(&Report::new(hash, contract, None));
    }
    let mut rows = Rows::default();
    rows.row("transaction", hash).row("status", format!("sent; to query it: silica tx {hash}"));
    rows.maybe("contract", contract.map(both_forms));
    Answer::done(rows)
}

/// Returns the report of a transaction that is in a block.
fn executed(
    transaction: &RawValue,
    hash: TxHash,
    contract: Option<Address>,
    is_json: bool,
) -> Result<Answer, ClientError> {
    let executed: Executed = read("GetTransaction", transaction)?;
    let answer = if is_json {
        Answer::json(&Report::new(hash, contract, Some(transaction)))
    } else {
        Answer::done(executed.rows(&hash))
    };
    Ok(answer.with_status(u8::from(!executed.is_success())))
}

/// The status of a transaction.
pub(super) enum Fate {
    /// The transaction is in a block. The value is the result of `GetTransaction`.
    Executed(Box<RawValue>),
    /// The transaction is pending, with this status.
    Waiting(u8),
    /// The transaction was dropped, with this status.
    Dropped(u8),
    /// The node has no record of the transaction, or no method for its status.
    Unknown,
}

impl Fate {
    /// Gets the status from a node.
    pub(super) async fn of(rpc: &Rpc<'_>, hash: TxHash) -> Result<Self, ClientError> {
        const EXECUTED: &str = "GetTransaction";
        const STATUS: &str = "GetTransactionStatus";
        match rpc.try_ask(EXECUTED, &[hash.to_string()]).await? {
            Ok(transaction) => return Ok(Self::Executed(transaction)),
            Err(error) if is_unknown(&error) => {}
            Err(error) => return Err(refused(EXECUTED, &error)),
        }
        match rpc.try_ask(STATUS, &[hash.to_string()]).await? {
            Ok(answer) => match read::<Status>(STATUS, &answer)?.status {
                // The node committed the block of the transaction between the two requests.
                CONFIRMED => Ok(Self::Executed(rpc.ask(EXECUTED, &[hash.to_string()]).await?)),
                status if status >= FIRST_OF_DROPPED => Ok(Self::Dropped(status)),
                status => Ok(Self::Waiting(status)),
            },
            Err(error) if is_unknown(&error) || error.code == RpcErrorCode::METHOD_NOT_FOUND => Ok(Self::Unknown),
            Err(error) => Err(refused(STATUS, &error)),
        }
    }
}

/// The status of a transaction that is in a block (Reference: execution#statuses).
const CONFIRMED: u8 = 3;

/// The first status of a dropped transaction (Reference: execution#statuses).
const FIRST_OF_DROPPED: u8 = 10;

/// The part of the response of `GetTransactionStatus` that the client needs.
#[derive(Deserialize)]
struct Status {
    status: u8,
}

/// Waits until a transaction is in a block. Writes the progress to standard error.
///
/// # Errors
///
/// The transaction was dropped or is not in a block after `limit`, or the node returned an error.
pub(super) async fn wait(rpc: &Rpc<'_>, hash: TxHash, limit: Duration) -> Result<Box<RawValue>, ClientError> {
    let begun = Instant::now();
    let mut progress = Progress::new(hash);
    loop {
        // The last request gets at least `PAUSE`, even if less of the limit remains.
        match timeout(limit.saturating_sub(begun.elapsed()).max(PAUSE), Fate::of(rpc, hash)).await {
            Ok(Ok(Fate::Executed(transaction))) => return Ok(transaction),
            Ok(Ok(Fate::Dropped(status))) => {
                return Err(dropped(hash, status));
            }
            // The node may be restarting. A later query can find the transaction.
            Ok(Ok(Fate::Waiting(_) | Fate::Unknown) | Err(ClientError::Connection { .. })) | Err(_) => {}
            Ok(Err(error)) => return Err(error),
        }
        let elapsed = begun.elapsed();
        progress.report(elapsed);
        if elapsed >= limit {
            return Err(ClientError::Late { hash, seconds: limit.as_secs() });
        }
        sleep(PAUSE).await;
    }
}

/// Returns the error for a transaction that was dropped with this status.
pub(super) fn dropped(hash: TxHash, status: u8) -> ClientError {
    ClientError::Dropped { hash, reason: drop_reason(status).to_owned(), status }
}

/// Returns the reason of a drop status as text (Reference: execution#statuses).
fn drop_reason(status: u8) -> &'static str {
    match status {
        10 => "its cost, or a balance or nonce after its execution, is out of range",
        11 => "the init data, the message, the contract or its libraries are invalid",
        12 => "no interpreter supports the version of the contract",
        13 => "the account of the sender does not exist",
        14 => "its gas limit is above the gas limit of a micro block",
        15 => "the chain does not execute transactions of its kind",
        18 => "the code is too large",
        19 => "its signature, chain id or version is wrong",
        20 => "its gas limit is too low",
        21 => "the sender has too little money",
        22 => "its gas price is too low, or its gas limit is too low to start the checker or the interpreter",
        24 => "another transaction has its nonce, and a higher gas price, or the same price and a smaller hash",
        25 => "the recipient of the payment is a contract, or the called account does not exist",
        26 => "another contract has the address",
        27 => "its nonce is already used",
        _ => "the node reports no reason",
    }
}

/// The progress note on standard error. A terminal shows one line that changes. Any other output gets a new line every
/// 15 s.
struct Progress {
    hash: TxHash,
    is_terminal: bool,
    /// Time of the next note, counted from the beginning of the wait.
    next: Duration,
}

impl Progress {
    fn new(hash: TxHash) -> Self {
        Self { hash, is_terminal: io::stderr().is_terminal(), next: Duration::ZERO }
    }

    fn report(&mut self, elapsed: Duration) {
        /// Time between two lines without a terminal, so that a log file stays short.
        const BETWEEN_LINES: Duration = Duration::from_secs(15);
        if elapsed < self.next {
            return;
        }
        let (before, after, pause) = if self.is_terminal { ("\r", "", PAUSE) } else { ("", "\n", BETWEEN_LINES) };
        let (hash, seconds) = (self.hash, elapsed.as_secs());
        // A failure to write the note does not change the result.
        drop(write!(io::stderr(), "{before}waiting for the block of {hash}: {seconds} s{after}"));
        self.next = elapsed.saturating_add(pause);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal && !self.next.is_zero() {
            drop(write!(io::stderr(), "\r\u{1b}[K"));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// This test waits at most 20 s, which is less than the time limit of one request, 30 s.
    #[tokio::test]
    async fn wait_for_a_silent_node_ends_after_its_limit() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap()).parse().unwrap();
        let rpc = Rpc { url: &url, timeout: Duration::from_secs(30) };
        let waited = wait(&rpc, TxHash::ZERO, Duration::from_millis(10));
        let error = timeout(Duration::from_secs(20), waited).await.expect("it waits no longer").unwrap_err();
        assert!(matches!(error, ClientError::Late { .. }), "{error}");
    }
}
