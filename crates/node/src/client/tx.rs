//! `silica tx`: a transaction and its status.

use std::time::Duration;

use clap::{Args, value_parser};
use serde_json::json;
use silica_protocol::TxHash;

use super::{
    Answer,
    error::ClientError,
    node::{NodeArgs, read},
    order::{Fate, dropped, wait},
    receipt::Executed,
    rows::Rows,
};

/// Arguments of `silica tx`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TxArgs {
    /// Hash of the transaction.
    #[arg(value_name = "HASH")]
    pub hash: TxHash,
    /// Time to wait for the block of the transaction, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = value_parser!(u64).range(0..=86_400))]
    pub wait: u64,
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Gets a transaction and its status, and returns both as output.
pub(super) async fn tx(args: &TxArgs) -> Result<Answer, ClientError> {
    let (rpc, hash) = (args.node.rpc(), args.hash);
    let fate = if args.wait > 0 {
        match wait(&rpc, hash, Duration::from_secs(args.wait)).await {
            Ok(transaction) => Fate::Executed(transaction),
            Err(ClientError::Dropped { status, .. }) => Fate::Dropped(status),
            Err(error) => return Err(error),
        }
    } else {
        Fate::of(&rpc, hash).await?
    };
    match fate {
        Fate::Executed(transaction) => {
            let executed: Executed = read("GetTransaction", &transaction)?;
            let answer = if args.node.json { Answer::json(&transaction) } else { Answer::done(executed.rows(&hash)) };
            Ok(answer.with_status(u8::from(!executed.is_success())))
        }
        Fate::Waiting(status) => {
            /// Exit status for a pending transaction, as `--help` states.
            const WAITING: u8 = 2;
            let mut rows = Rows::default();
            rows.row("transaction", hash).row("status", format!("waits for a block ({status})"));
            let answer = if args.node.json { in_no_block(hash, status) } else { Answer::done(rows) };
            Ok(answer.with_status(WAITING))
        }
        Fate::Dropped(status) => {
            let error = dropped(hash, status);
            if !args.node.json {
                return Err(error);
            }
            // The JSON has no reason for a drop. Therefore the note for standard error has the reason.
            Ok(in_no_block(hash, status).with_status(error.exit_status()).with_note(format!("silica: {error}")))
        }
        Fate::Unknown => Err(ClientError::Absent(format!("transaction {hash}"))),
    }
}

/// Returns the JSON report of a transaction that is in no block.
fn in_no_block(hash: TxHash, status: u8) -> Answer {
    Answer::json(&json!({ "ID": hash.to_string(), "status": status }))
}
