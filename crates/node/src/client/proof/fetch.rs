//! Requests to a node for a Tx block, and for a proof of the state after this block.

use std::time::Duration;

use serde::{Deserialize, de::DeserializeOwned};
use silica_protocol::{
    Address, BlockNumber, StateRoot, VariableHash,
    rpc::{
        envelope::{Id, Response, write_request},
        error::{RpcError, RpcErrorCode},
        text::Dec,
    },
};

use super::{VerifyError, request::proof_request};
use crate::{
    client::{
        http::{Client, HttpError},
        url::NodeUrl,
        values::WhichBlock,
    },
    terminal::visible,
};

/// Time limit of all requests together, with the connection.
const TIMEOUT: Duration = Duration::from_secs(30);

const TX_BLOCK: &str = "GetTxBlock";

/// The data that a node returned.
pub(super) struct Fetched {
    pub(super) block: BlockNumber,
    pub(super) root: StateRoot,
    /// The whole JSON-RPC response to `GetStateProof` or `silica_getAccountProof`.
    pub(super) answer: String,
}

pub(super) async fn fetch(
    url: &NodeUrl,
    block: WhichBlock,
    address: &Address,
    variable: Option<&VariableHash>,
) -> Result<Fetched, VerifyError> {
    let fetched = tokio::time::timeout(TIMEOUT, Node::ask(url, block, address, variable)).await;
    let late = HttpError::Timeout { limit: TIMEOUT };
    fetched.unwrap_or_else(|_| Err(VerifyError::Connection { url: url.to_string(), source: late }))
}

struct Node<'a> {
    url: &'a NodeUrl,
    client: Client,
}

impl Node<'_> {
    async fn ask(
        url: &NodeUrl,
        block: WhichBlock,
        address: &Address,
        variable: Option<&VariableHash>,
    ) -> Result<Fetched, VerifyError> {
        let client = Client::connect(url).await;
        let client = client.map_err(|source| VerifyError::Connection { url: url.to_string(), source })?;
        let mut node = Node { url, client };
        let (block, root) = node.block(block).await?;
        let (method, params) = proof_request(address, variable, block.to_string());
        let answer = node.post(method, &params).await?.to_owned();
        Ok(Fetched { block, root, answer })
    }

    async fn block(&mut self, which: WhichBlock) -> Result<(BlockNumber, StateRoot), VerifyError> {
        let (method, TxBlock { header }) = match which {
            WhichBlock::Latest => self.latest_block().await?,
            WhichBlock::Number(number) => (TX_BLOCK, self.call(TX_BLOCK, &[number.to_string()]).await?),
        };
        let unfit = |got: String| unfit(method, &got);
        let number = header.number.parse().map_err(|_| unfit(format!("BlockNum: {:?}", header.number)))?;
        match which {
            // For a missing block, a node returns a block with the number 2^64 - 1.
            WhichBlock::Number(requested) if requested != number => {
                Err(unfit(format!("there is no Tx block {requested}")))
            }
            WhichBlock::Latest | WhichBlock::Number(_) => {
                let root = header.state_root.parse().map_err(|error| unfit(format!("StateRootHash: {error}")))?;
                Ok((BlockNumber::new(number), root))
            }
        }
    }

    /// Gets the latest block. Returns the name of the method that returned the block, and the block. In the block mode
    /// `manual-immediate`, a node has no method for the latest block. The client then gets the block by its number.
    async fn latest_block(&mut self) -> Result<(&'static str, TxBlock), VerifyError> {
        const LATEST: &str = "GetLatestTxBlock";
        match self.try_call(LATEST, &[String::new()]).await? {
            Ok(block) => Ok((LATEST, block)),
            Err(error) if error.code == RpcErrorCode::METHOD_NOT_FOUND => {
                let Dec(next): Dec<u64> = self.call("GetCurrentMiniEpoch", &[String::new()]).await?;
                Ok((TX_BLOCK, self.call(TX_BLOCK, &[next.saturating_sub(1).to_string()]).await?))
            }
            Err(error) => Err(unfit(LATEST, &error.to_string())),
        }
    }

    async fn call<T: DeserializeOwned>(&mut self, method: &'static str, params: &[String]) -> Result<T, VerifyError> {
        self.try_call(method, params).await?.map_err(|error| unfit(method, &error.to_string()))
    }

    /// Calls a method, and returns the result or the error in the response.
    async fn try_call<T: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &[String],
    ) -> Result<Result<T, RpcError>, VerifyError> {
        let unfit = |got: String| unfit(method, &got);
        let answer = self.post(method, params).await?;
        let response = Response::parse(answer).map_err(|error| unfit(error.to_string()))?;
        let result = match response.outcome {
            Ok(result) => result,
            Err(error) => return Ok(Err(error)),
        };
        serde_json::from_str(result.get()).map(Ok).map_err(|error| unfit(error.to_string()))
    }

    async fn post(&mut self, method: &'static str, params: &[String]) -> Result<&str, VerifyError> {
        let url = self.url;
        let mut request = Vec::new();
        write_request(&mut request, &Id::from(1), method, params).map_err(|error| unfit(method, &error.to_string()))?;
        self.client.post(&request).await.map_err(|source| VerifyError::Connection { url: url.to_string(), source })
    }
}

/// Returns the error for an unexpected response. Control characters are escaped.
fn unfit(method: &'static str, got: &str) -> VerifyError {
    VerifyError::Node { method, got: visible(got) }
}

/// The part of a Tx block that the client needs. Unknown members are ignored.
#[derive(Deserialize)]
struct TxBlock {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "BlockNum")]
    number: String,
    #[serde(rename = "StateRootHash")]
    state_root: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_node_are_escaped() {
        let error = unfit("GetTxBlock", "it's \u{1b}[2J\u{202e}\n").to_string();
        assert!(error.contains(r"it's \u{1b}[2J\u{202e}\n"), "{error}");
    }
}
