//! The messages of a co-signature session, their canonical bytes and their signatures.

use std::fmt;

use silica_crypto::{
    KeyPair, RoundValueError, VerifyError,
    multisig::{CommitHash, CommitPoint, Response},
    verify,
};
use silica_protocol::{DecodeError, PublicKey, Signature};

use crate::{
    bounds::{MAX_COSIGN_MESSAGE, MAX_MEMBERS},
    entry::{EntryId, Height},
    network::NetworkId,
    vote::{sign, signed},
    wire::{Reader, Writer, value},
};

/// An attempt to co-sign a body. Each attempt has nonces of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId {
    /// Height of the seal.
    pub height: Height,
    /// Round of the height. It determines the leader.
    pub round: u32,
    /// Attempt of the round, from 0.
    pub attempt: u8,
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "height {}, round {}, attempt {}", self.height, self.round, self.attempt)
    }
}

/// A round of the co-signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoSignRound {
    /// The signature over the header.
    First,
    /// The signature over the header, the first signature and the signers.
    Second,
}

/// The hashes of the two commit points of an item: of the first and of the second round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemHashes(pub [CommitHash; 2]);

/// The part of a `Ready` that a `Set` contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedReady {
    /// The hashes of each item.
    pub hashes: Vec<ItemHashes>,
    /// Signature of the `Ready` message.
    pub signature: Signature,
}

/// The content of a message. Lists have one element for each item, in the order of [`Body::items`](crate::Body::items).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// From a member to the leader: the member has decided the body, and commits to its points. From the leader to all
    /// members: the attempt begins.
    Ready {
        /// Id of the body.
        body: EntryId,
        /// The hashes of each item.
        hashes: Vec<ItemHashes>,
    },
    /// From the leader: the signers, and the hashes of each signer.
    Set {
        /// The signers, in the order of the committee.
        signers: Vec<bool>,
        /// The `Ready` of each signer, in the order of the committee.
        readys: Vec<SignedReady>,
    },
    /// From a signer: its points.
    Points(CoSignRound, Vec<CommitPoint>),
    /// From the leader: the points of each signer, in the order of the committee.
    Challenge(CoSignRound, Vec<Vec<CommitPoint>>),
    /// From a signer: its responses.
    Responses(CoSignRound, Vec<Response>),
    /// From the leader: the signatures of the first round.
    First(Vec<Signature>),
}

/// A message of a session, signed by its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSignMessage {
    /// The attempt.
    pub session: SessionId,
    /// Position of the sender in the committee.
    pub from: usize,
    /// The content.
    pub content: Content,
    /// Signature of the sender over the network id and all other fields.
    pub signature: Signature,
}

impl CoSignMessage {
    /// Creates a message with its signature.
    pub fn new(network: &NetworkId, session: SessionId, from: usize, content: Content, key: &KeyPair) -> Self {
        let mut message = Self { session, from, content, signature: Signature::ZERO };
        message.signature = sign(&message.signed_bytes(network), key);
        message
    }

    /// Verifies the signature with the key of the sender.
    ///
    /// # Errors
    ///
    /// The errors of [`silica_crypto::verify`].
    pub fn verify(&self, network: &NetworkId, key: &PublicKey) -> Result<(), VerifyError> {
        verify(&self.signed_bytes(network), &self.signature, key)
    }

    fn signed_bytes(&self, network: &NetworkId) -> Vec<u8> {
        let mut writer = signed(b"silica cosign v1", network);
        self.write(&mut writer);
        writer.finish()
    }

    /// Returns the canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.fixed(self.signature.as_bytes());
        writer.finish()
    }

    /// Writes all fields except the signature.
    fn write(&self, writer: &mut Writer) {
        writer.u8(self.kind());
        writer.u64(self.session.height.get());
        writer.u32(self.session.round);
        writer.u8(self.session.attempt);
        writer.u8(u8::try_from(self.from).unwrap_or(u8::MAX));
        match &self.content {
            Content::Ready { body, hashes } => {
                writer.fixed(body.as_bytes());
                write_hashes(writer, hashes);
            }
            Content::Set { signers, readys } => {
                writer.bits(signers);
                for ready in readys {
                    write_hashes(writer, &ready.hashes);
                    writer.fixed(ready.signature.as_bytes());
                }
            }
            Content::Points(_, points) => write_points(writer, points),
            Content::Challenge(_, points) => {
                writer.count(points.len());
                for points in points {
                    write_points(writer, points);
                }
            }
            Content::Responses(_, responses) => {
                writer.count(responses.len());
                for response in responses {
                    writer.fixed(response.as_bytes());
                }
            }
            Content::First(signatures) => {
                writer.count(signatures.len());
                for signature in signatures {
                    writer.fixed(signature.as_bytes());
                }
            }
        }
    }

    /// Returns the number of the message in the sequence of a session, from 1 to 9.
    fn kind(&self) -> u8 {
        match self.content {
            Content::Ready { .. } => 1,
            Content::Set { .. } => 2,
            Content::Points(CoSignRound::First, _) => 3,
            Content::Challenge(CoSignRound::First, _) => 4,
            Content::Responses(CoSignRound::First, _) => 5,
            Content::First(_) => 6,
            Content::Points(CoSignRound::Second, _) => 7,
            Content::Challenge(CoSignRound::Second, _) => 8,
            Content::Responses(CoSignRound::Second, _) => 9,
        }
    }

    /// Reads the canonical bytes. Encoding the result returns the same bytes. The function does not verify the
    /// signature, and does not check that commit points are points of the curve: a session checks the points that are
    /// due.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not canonical, have more than [`MAX_COSIGN_MESSAGE`] bytes, or contain a
    /// response that is not a scalar of the group.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MAX_COSIGN_MESSAGE {
            return Err(value("CoSignMessage", format!("at most {MAX_COSIGN_MESSAGE} bytes"), bytes.len()));
        }
        let mut reader = Reader::new(bytes);
        let kind = reader.u8("CoSignMessage.kind")?;
        let height = Height::new(reader.u64("CoSignMessage.height")?)
            .ok_or_else(|| value("CoSignMessage.height", "a number of at least 1".to_owned(), 0))?;
        let session = SessionId {
            height,
            round: reader.u32("CoSignMessage.round")?,
            attempt: reader.u8("CoSignMessage.attempt")?,
        };
        let from = usize::from(reader.u8("CoSignMessage.from")?);
        if from >= MAX_MEMBERS {
            return Err(value("CoSignMessage.from", format!("a number below {MAX_MEMBERS}"), from));
        }
        let content = read_content(kind, &mut reader)?;
        let signature = Signature::new(reader.fixed("CoSignMessage.signature")?);
        reader.finish("CoSignMessage")?;
        Ok(Self { session, from, content, signature })
    }
}

fn write_hashes(writer: &mut Writer, hashes: &[ItemHashes]) {
    writer.count(hashes.len());
    for ItemHashes([first, second]) in hashes {
        writer.fixed(first.as_bytes());
        writer.fixed(second.as_bytes());
    }
}

fn write_points(writer: &mut Writer, points: &[CommitPoint]) {
    writer.count(points.len());
    for point in points {
        writer.fixed(point.as_bytes());
    }
}

fn read_content(kind: u8, reader: &mut Reader<'_>) -> Result<Content, DecodeError> {
    use CoSignRound::{First, Second};
    Ok(match kind {
        1 => Content::Ready { body: EntryId::new(reader.fixed("Ready.body")?), hashes: read_hashes(reader)? },
        2 => {
            let signers = reader.bits("Set.signers")?;
            let ready = |_: &bool| {
                let hashes = read_hashes(reader)?;
                Ok(SignedReady { hashes, signature: Signature::new(reader.fixed("Set.signature")?) })
            };
            let readys = signers.iter().filter(|signer| **signer).map(ready).collect::<Result<_, DecodeError>>()?;
            Content::Set { signers, readys }
        }
        3 => Content::Points(First, read_points(reader)?),
        4 => Content::Challenge(First, read_challenge(reader)?),
        5 => Content::Responses(First, read_responses(reader)?),
        6 => Content::First(read_list(reader, "First.signatures", |bytes| Ok(Signature::new(bytes)))?),
        7 => Content::Points(Second, read_points(reader)?),
        8 => Content::Challenge(Second, read_challenge(reader)?),
        9 => Content::Responses(Second, read_responses(reader)?),
        _ => return Err(value("CoSignMessage.kind", "1 to 9".to_owned(), kind)),
    })
}

/// Reads a list of values with `N` bytes each.
fn read_list<T, const N: usize>(
    reader: &mut Reader<'_>,
    field: &'static str,
    read: impl Fn([u8; N]) -> Result<T, RoundValueError>,
) -> Result<Vec<T>, DecodeError> {
    let most = MAX_COSIGN_MESSAGE.checked_div(N).unwrap_or_default();
    (0..reader.count(field, most)?)
        .map(|_| read(reader.fixed(field)?).map_err(|error| value(field, "a valid element".to_owned(), error)))
        .collect()
}

fn read_hashes(reader: &mut Reader<'_>) -> Result<Vec<ItemHashes>, DecodeError> {
    const FIELD: &str = "Ready.hashes";
    (0..reader.count(FIELD, MAX_COSIGN_MESSAGE / 64)?)
        .map(|_| {
            let mut hash = || reader.fixed(FIELD).map(CommitHash::new);
            Ok(ItemHashes([hash()?, hash()?]))
        })
        .collect()
}

fn read_points(reader: &mut Reader<'_>) -> Result<Vec<CommitPoint>, DecodeError> {
    read_list(reader, "Points.points", |bytes| Ok(CommitPoint::unchecked(bytes)))
}

fn read_challenge(reader: &mut Reader<'_>) -> Result<Vec<Vec<CommitPoint>>, DecodeError> {
    (0..reader.count("Challenge.points", MAX_MEMBERS)?).map(|_| read_points(reader)).collect()
}

fn read_responses(reader: &mut Reader<'_>) -> Result<Vec<Response>, DecodeError> {
    read_list(reader, "Responses.responses", Response::from_bytes)
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
    use proptest::prelude::*;
    use silica_crypto::multisig::CommitSecret;
    use silica_protocol::sha256;

    use super::*;
    use crate::testing;

    const NETWORK: NetworkId = NetworkId::new([7; 32]);

    /// Returns one message of each kind, with this number of items.
    fn messages(items: usize) -> Vec<CoSignMessage> {
        use CoSignRound::{First, Second};
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut points = || (0..items).map(|_| CommitSecret::generate(&mut rng).point()).collect::<Vec<_>>();
        let hashes = || points().iter().map(|point| ItemHashes([point.hash(), point.hash()])).collect::<Vec<_>>();
        let mut contents = vec![Content::Ready { body: EntryId::new([1; 32]), hashes: { hashes }() }];
        let ready = |byte| SignedReady {
            hashes: vec![ItemHashes([CommitHash::new([byte; 32]); 2]); items],
            signature: Signature::new([byte; 64]),
        };
        contents
            .push(Content::Set { signers: vec![true, false, true, true], readys: vec![ready(1), ready(2), ready(3)] });
        let responses =
            (0..items).map(|item| Response::from_bytes(sha256(&[&item.to_be_bytes()])).unwrap()).collect::<Vec<_>>();
        for round in [First, Second] {
            contents.push(Content::Points(round, points()));
            contents.push(Content::Challenge(round, vec![points(), points(), points()]));
            contents.push(Content::Responses(round, responses.clone()));
        }
        contents.push(Content::First((0..items).map(|_| Signature::new([5; 64])).collect()));
        let session = SessionId { height: Height::new(8).unwrap(), round: 2, attempt: 1 };
        let key = &testing::keys(4)[3];
        contents.into_iter().map(|content| CoSignMessage::new(&NETWORK, session, 3, content, key)).collect()
    }

    #[test]
    fn messages_round_trip_and_verify() {
        let key = testing::keys(4)[3].public_key();
        for items in [0, 1, 4] {
            let messages = messages(items);
            let kinds: std::collections::BTreeSet<_> = messages.iter().map(CoSignMessage::kind).collect();
            assert_eq!(kinds.into_iter().collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
            for message in messages {
                assert_eq!(CoSignMessage::decode(&message.encode()), Ok(message.clone()));
                assert_eq!(message.verify(&NETWORK, &key), Ok(()));
                assert_eq!(message.verify(&NetworkId::new([8; 32]), &key), Err(VerifyError::Mismatch));
                let other = CoSignMessage { from: 2, ..message };
                assert_eq!(other.verify(&NETWORK, &key), Err(VerifyError::Mismatch));
            }
        }
    }

    #[test]
    fn every_shorter_and_longer_text_is_rejected() {
        for message in messages(2) {
            let bytes = message.encode();
            for len in 0..bytes.len() {
                assert!(CoSignMessage::decode(&bytes[..len]).is_err(), "{message:?}: {len} bytes");
            }
            let error = CoSignMessage::decode(&[&bytes[..], &[0]].concat()).unwrap_err();
            assert_eq!(error.to_string(), "CoSignMessage: expected no bytes after the last field, got 1 bytes");
        }
    }

    #[test]
    fn errors_name_the_field() {
        let [ready, set] = [0, 1].map(|index| messages(1)[index].encode());
        let error = |bytes: &[u8], at: usize, byte: u8| {
            let mut bytes = bytes.to_vec();
            bytes[at] = byte;
            CoSignMessage::decode(&bytes).unwrap_err().to_string()
        };
        assert_eq!(error(&ready, 0, 10), "CoSignMessage.kind: expected 1 to 9, got 10");
        assert_eq!(error(&ready, 8, 0), "CoSignMessage.height: expected a number of at least 1, got 0");
        assert_eq!(error(&ready, 14, 64), "CoSignMessage.from: expected a number below 64, got 64");
        assert_eq!(error(&ready, 49, 1), "Ready.hashes: expected at most 256, got 257");
        assert_eq!(error(&set, 17, 0b1011_0001), "Set.signers: expected zeros after 4 bits, got a one");
        let responses = messages(1)[4].encode();
        let zero = |at: usize| error(&[&responses[..19], &[0; 31], &responses[50..]].concat(), at, 0);
        assert!(zero(50).starts_with("Responses.responses: expected a valid element, got response"), "{}", zero(50));
        let long = vec![1; MAX_COSIGN_MESSAGE + 1];
        let error = CoSignMessage::decode(&long).unwrap_err();
        assert_eq!(error.to_string(), "CoSignMessage: expected at most 16384 bytes, got 16385");
    }

    /// A message can have 493 points, and the check of all of them would take some 5 ms.
    #[test]
    fn points_are_read_without_a_check() {
        let points = vec![CommitPoint::unchecked([5; 33]); 490];
        let session = SessionId { height: Height::new(8).unwrap(), round: 2, attempt: 1 };
        let content = Content::Points(CoSignRound::First, points);
        let message = CoSignMessage::new(&NETWORK, session, 3, content, &testing::keys(4)[3]);
        assert!(message.encode().len() > MAX_COSIGN_MESSAGE - 256);
        assert_eq!(CoSignMessage::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn the_longest_message_of_a_committee_fits() {
        for members in [2, 4, 7, 10, 31, MAX_MEMBERS] {
            let items = usize::try_from(crate::bounds::max_shards(members)).unwrap() + 3;
            let signers = silica_crypto::cosign::quorum(members);
            let hashes = vec![ItemHashes([CommitHash::new([1; 32]); 2]); items];
            let ready = SignedReady { hashes, signature: Signature::ZERO };
            let bits = (0..members).map(|member| member < signers).collect();
            let content = Content::Set { signers: bits, readys: vec![ready; signers] };
            let session = SessionId { height: Height::new(8).unwrap(), round: 2, attempt: 1 };
            let message = CoSignMessage { session, from: 0, content, signature: Signature::ZERO };
            assert!(message.encode().len() <= MAX_COSIGN_MESSAGE, "{members} members");
            assert_eq!(CoSignMessage::decode(&message.encode()), Ok(message));
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_changes_the_message_or_is_rejected(
            kind in 0_usize..9,
            at in any::<prop::sample::Index>(),
            bit in 0_u8..8,
        ) {
            let message = messages(2).swap_remove(kind);
            let mut bytes = message.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(decoded) = CoSignMessage::decode(&bytes) {
                prop_assert_eq!(decoded.encode(), bytes);
                prop_assert_ne!(&decoded, &message);
                prop_assert!(decoded.verify(&NETWORK, &testing::keys(4)[3].public_key()).is_err());
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(kind in 1_u8..10, rest in prop::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [&[kind][..], &rest].concat();
            if let Ok(message) = CoSignMessage::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
