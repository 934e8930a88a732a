//! Checks that all members have the same chain, and that the chain has all acknowledged transactions and all money.

use std::{collections::BTreeSet, fs, path::Path, process::Command, thread, time::Duration};

use serde_json::{Value, json};
use silica_crypto::{cosign, verify_tx_block};
use silica_protocol::{Address, DsBlock, PublicKey, TxBlock, hex};
use silica_tests::{Dice, Node, Refusal, Wallet, chain::number, wallet::FUNDS};

use super::{EPOCH, validators::Validators};
use crate::load::{Kept, PAYEES, payee};

/// Number of attempts to read all members at one head.
const ATTEMPTS: u32 = 600;
/// Balance of the null account at genesis, in Qa.
const RESERVE: u128 = 8_400_000_000_000_000_000_000;

/// What earlier checks have read.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Bytes of the checked Tx blocks, in hexadecimal digits.
    tx_blocks: Vec<String>,
    ds_blocks: Vec<String>,
    /// Fees of the checked Tx blocks, in Qa.
    fees: Vec<u128>,
    committee: Vec<PublicKey>,
}

type Answer = Result<Value, Refusal>;

impl Checked {
    /// Checks all blocks since the last check, and the answers of all members at one head. Checks the acknowledged
    /// transactions at one member.
    pub(super) fn check(&mut self, validators: &Validators<'_>, kept: &Kept, dice: &mut Dice) {
        let accounts = accounts(validators.keys());
        let (height, answers) = at_one_head(validators, &accounts);
        self.check_committee(&answers, validators.keys());
        self.check_blocks(validators, height);
        self.check_money(&answers, accounts.len());
        let nodes: Vec<&Node> = validators.nodes().collect();
        kept.check(dice.choose(&nodes).expect("members run"), dice);
    }

    pub(super) fn blocks(&self) -> usize {
        self.tx_blocks.len()
    }

    fn check_committee(&mut self, answers: &[Answer], members: &[PublicKey]) {
        let committee = answers.first().and_then(|answer| answer.as_ref().ok()?.get("dscomm")?.as_array());
        let keys = committee.into_iter().flatten().filter_map(|key| key.as_str()?.parse().ok());
        self.committee = keys.collect();
        let set = |keys: &[PublicKey]| keys.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!(set(&self.committee), set(members), "{committee:?}");
    }

    /// Compares the new blocks of all members, and verifies their co-signatures.
    fn check_blocks(&mut self, validators: &Validators<'_>, height: u64) {
        let first = self.tx_blocks.len() as u64;
        let (first_ds, ds_height) = (self.ds_blocks.len() as u64, (height - 1) / EPOCH + 1);
        let of = |method, numbers: std::ops::Range<u64>| numbers.map(move |it| (method, json!([it.to_string()])));
        let calls: Vec<(&str, Value)> = of("GetRawTxBlock", first..height)
            .chain(of("GetRawDSBlock", first_ds..ds_height))
            .chain(of("GetTxBlockVerbose", first..height))
            .chain(of("GetDsBlockVerbose", first_ds..ds_height))
            .chain(of("GetTxnBodiesForTxBlock", first..height))
            .collect();
        let mut all = validators.nodes().map(|node| node.call_all(&calls));
        let answers = all.next().expect("members run");
        for other in all {
            compare(&calls, &answers, &other);
        }
        let raw = |answer: &Answer| {
            let data = answer.as_ref().ok().and_then(|it| it.get("data")?.as_str());
            data.expect("a block has bytes").trim_start_matches("0x").to_owned()
        };
        for ((method, params), answer) in calls.iter().zip(&answers) {
            match *method {
                "GetRawTxBlock" => {
                    let text = raw(answer);
                    let block = TxBlock::decode(&hex::decode(&text).expect("digits")).expect("a block");
                    if block.header.number.get() > 0 {
                        let verified = verify_tx_block(&block, &self.committee);
                        assert_eq!(verified, Ok(block.header.state_root), "Tx block {params}");
                    }
                    self.tx_blocks.push(text);
                }
                "GetRawDSBlock" => {
                    let text = raw(answer);
                    let block = DsBlock::decode(&hex::decode(&text).expect("digits")).expect("a block");
                    if block.header.number.get() > 0 {
                        let verified = cosign::verify(&block.cosignatures, &block.header.encode(), &self.committee);
                        assert_eq!(verified, Ok(()), "DS block {params}");
                    }
                    self.ds_blocks.push(text);
                }
                "GetTxBlockVerbose" => {
                    let header = answer.as_ref().ok().and_then(|block| block.pointer("/header/TxnFees")?.as_str());
                    self.fees.push(header.and_then(|fees| fees.parse().ok()).expect("a block has fees"));
                }
                _ => {}
            }
        }
    }

    /// Checks that the sum of all balances and of the fees that no account has received is constant. The balances are
    /// the last `count` answers.
    fn check_money(&self, answers: &[Answer], count: usize) {
        let balances = answers.iter().rev().take(count).filter_map(|answer| answer.as_ref().ok());
        let balances = balances.filter_map(|account| account.get("balance")?.as_str()?.parse::<u128>().ok());
        let height = self.fees.len() as u64;
        // The vacuous block ends a DS epoch, and returns its fees. The genesis block has a nominal amount.
        let uncredited = usize::try_from(height % EPOCH).unwrap_or_default().min(self.fees.len().saturating_sub(1));
        let sum = balances.sum::<u128>() + self.fees.iter().rev().take(uncredited).sum::<u128>();
        let funded = Wallet::all_funded().count() as u128;
        assert_eq!(sum, funded * FUNDS + RESERVE, "money at block {}", height.saturating_sub(1));
    }

    /// Verifies all blocks with the verifier in TypeScript, which has no code in common with the node.
    pub(super) fn verify_independently(&self, directory: &Path) {
        let path = directory.join("blocks.json");
        let committee: Vec<String> = self.committee.iter().map(ToString::to_string).collect();
        let blocks = json!({"committee": committee, "txBlocks": self.tx_blocks, "dsBlocks": self.ds_blocks});
        fs::write(&path, blocks.to_string()).expect("the temporary directory is writable");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packages/proof/scripts/blocks.mjs");
        let verified = Command::new("node").arg(script).arg(&path).status();
        assert!(verified.expect("Node.js is installed").success(), "a block of {} is not valid", path.display());
    }
}

/// Returns all accounts that can have money.
fn accounts(members: &[PublicKey]) -> Vec<Address> {
    let payees = (0..PAYEES).map(|nonce| payee(0, nonce));
    let mut accounts: BTreeSet<Address> = Wallet::all_funded().chain(payees).map(|it| it.address()).collect();
    accounts.extend(members.iter().map(Address::from_public_key));
    accounts.insert(Address::ZERO);
    accounts.into_iter().collect()
}

/// Reads the same answers from all members, while all members have the same head. Returns the number of blocks.
fn at_one_head(validators: &Validators<'_>, accounts: &[Address]) -> (u64, Vec<Answer>) {
    let height = || ("GetNumTxBlocks", json!([""]));
    let nothing = [
        "GetCurrentDSComm",
        "GetBlockchainInfo",
        "GetShardingStructure",
        "GetNumPeers",
        "GetTotalCoinSupply",
        "GetLatestTxBlock",
        "GetLatestDsBlock",
        "GetRecentTransactions",
        "GetMinimumGasPrice",
        "GetPrevDifficulty",
    ];
    let mut calls = vec![height()];
    calls.extend(nothing.map(|method| (method, json!([""]))));
    calls.extend(["GetMinerInfo", "GetShardMembers"].map(|method| (method, json!(["1"]))));
    calls.extend(["TxBlockListing", "DSBlockListing"].map(|method| (method, json!([1]))));
    calls.extend(accounts.iter().map(|address| ("GetBalance", json!([address.to_string()]))));
    calls.push(height());
    for _ in 0..ATTEMPTS {
        let answers: Vec<Vec<Answer>> = validators.nodes().map(|node| node.call_all(&calls)).collect();
        let first = answers.first().expect("members run");
        let head = first.first();
        if answers.iter().all(|answers| answers.first() == head && answers.last() == head) {
            for other in &answers {
                compare(&calls, first, other);
            }
            let height = head.and_then(|head| head.as_ref().ok()).map_or(0, number);
            // Only the answers between the two heights are needed.
            return (height, first.get(1..first.len() - 1).unwrap_or_default().to_vec());
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("the members do not reach one head");
}

/// Compares the answers of two members.
fn compare(calls: &[(&str, Value)], first: &[Answer], other: &[Answer]) {
    for ((method, params), (first, other)) in calls.iter().zip(first.iter().zip(other)) {
        assert_eq!(first, other, "{method}{params}");
    }
}
