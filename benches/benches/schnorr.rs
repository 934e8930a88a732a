//! Signatures, compared with signatures of libsecp256k1: sign, verify, and the co-signature of blocks.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use criterion::{Criterion, criterion_group, criterion_main};
use secp256k1::{Keypair, Message, XOnlyPublicKey, ecdsa, schnorr as bip340};
use silica_crypto::{
    KeyPair, Nonces, SecretKey, cosign,
    multisig::{Challenge, CommitPoint, CommitSecret, aggregate_keys, combine},
    verify,
};
use silica_protocol::{CoSignatures, PublicKey, Signature, sha256};

/// Number of bytes in the core information of a payment with a small nonce.
const PAYMENT: usize = 109;
/// Number of signers in turn. With few signers, the branch predictor of the processor would adapt to each of them.
const SIGNERS: u16 = 128;
/// Number of members in the DS committee of the main network.
const COMMITTEE: usize = 600;

/// A key pair and a message, with its signature in each scheme.
struct Case {
    message: Vec<u8>,
    key: KeyPair,
    signature: Signature,
    pair: Keypair,
    parsed_key: secp256k1::PublicKey,
    ecdsa: [u8; 64],
    parsed_ecdsa: ecdsa::Signature,
    x_only_key: [u8; 32],
    bip340: [u8; 64],
}

impl Case {
    fn new(number: u16) -> Self {
        let seed = sha256(&[b"signer", &number.to_be_bytes()]);
        let message: Vec<u8> = seed.into_iter().cycle().take(PAYMENT).collect();
        let key = key_pair(seed);
        let pair = Keypair::from_secret_bytes(seed).expect("a digest is a secret key");
        let parsed_ecdsa = ecdsa::sign(digest(&message), &pair.secret_key());
        Self {
            signature: key.sign(&message).expect("the message is not empty"),
            parsed_key: pair.public_key(),
            ecdsa: parsed_ecdsa.serialize_compact(),
            parsed_ecdsa,
            x_only_key: pair.x_only_public_key().0.to_byte_array(),
            bip340: bip340::sign_no_aux_rand(&message, &pair).to_byte_array(),
            message,
            key,
            pair,
        }
    }
}

fn key_pair(seed: [u8; 32]) -> KeyPair {
    KeyPair::from(SecretKey::from_bytes(seed).expect("a digest is a secret key"))
}

/// Returns the digest that ECDSA signs. Schnorr hashes the message itself.
fn digest(message: &[u8]) -> Message {
    Message::from_digest(sha256(&[message]))
}

/// Measures an operation on one case after the other.
fn bench<T>(criterion: &mut Criterion, name: &str, cases: &[Case], operation: impl Fn(&Case) -> T) {
    let mut turns = cases.iter().cycle();
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| operation(black_box(turns.next().expect("there are cases"))));
    });
}

fn verify_schnorr(case: &Case) {
    verify(&case.message, &case.signature, &case.key.public_key()).expect("the signature is right");
}

fn verify_ecdsa(case: &Case) {
    let key = secp256k1::PublicKey::from_byte_array_compressed(case.key.public_key().to_bytes()).expect("it is a key");
    let signature = ecdsa::Signature::from_compact(&case.ecdsa).expect("it is a signature");
    ecdsa::verify(&signature, digest(&case.message), &key).expect("the signature is right");
}

fn verification(criterion: &mut Criterion) {
    let cases: Vec<_> = (0..SIGNERS).map(Case::new).collect();
    bench(criterion, "schnorr/verify", &cases, verify_schnorr);
    bench(criterion, "ecdsa/verify_with_parse", &cases, verify_ecdsa);
    bench(criterion, "ecdsa/verify_parsed", &cases, |case| {
        ecdsa::verify(&case.parsed_ecdsa, digest(&case.message), &case.parsed_key).expect("the signature is right");
    });
    bench(criterion, "bip340/verify", &cases, |case| {
        let key = XOnlyPublicKey::from_byte_array(case.x_only_key).expect("it is a key");
        let signature = bip340::Signature::from_byte_array(case.bip340);
        bip340::verify(&signature, &case.message, &key).expect("the signature is right");
    });
}

fn signing(criterion: &mut Criterion) {
    let cases: Vec<_> = (0..SIGNERS).map(Case::new).collect();
    bench(criterion, "schnorr/sign", &cases, |case| case.key.sign(&case.message));
    bench(criterion, "schnorr/sign_zilliqa_js", &cases, |case| {
        case.key.sign_with(&case.message, Nonces::zilliqa_js(&case.message, &[1; 32], &[2; 32]))
    });
    bench(criterion, "schnorr/public_key", &cases, |case| case.key.secret().public_key());
    bench(criterion, "ecdsa/sign", &cases, |case| ecdsa::sign(digest(&case.message), &case.pair.secret_key()));
    bench(criterion, "bip340/sign", &cases, |case| bip340::sign_no_aux_rand(&case.message, &case.pair));
}

fn co_signatures(criterion: &mut Criterion) {
    let header = [7; 300];
    let key = key_pair([1; 32]);
    let alone = cosign::cosign_alone(&header, &key).expect("the header is not empty");
    criterion.bench_function("cosign/alone", |bencher| bencher.iter(|| cosign::cosign_alone(black_box(&header), &key)));
    criterion.bench_function("cosign/verify_1", |bencher| {
        bencher
            .iter(|| cosign::verify(black_box(&alone), &header, &[key.public_key()]).expect("the signature is right"));
    });

    let members: Vec<_> = (0..COMMITTEE).map(|number| key_pair(sha256(&[&number.to_be_bytes()]))).collect();
    let keys: Vec<_> = members.iter().map(KeyPair::public_key).collect();
    let committee = cosign_together(&header, &members);
    criterion.bench_function("cosign/verify_600", |bencher| {
        bencher.iter(|| cosign::verify(black_box(&committee), &header, &keys).expect("the signature is right"));
    });
    criterion
        .bench_function("multisig/aggregate_keys_600", |bencher| bencher.iter(|| aggregate_keys(black_box(&keys))));

    let secret = CommitSecret::generate(&mut ChaCha8Rng::seed_from_u64(0));
    let point = secret.point();
    let challenge = Challenge::new(&point, &key.public_key(), &header).expect("the header is not empty");
    let response = secret.respond(&challenge, key.secret()).expect("the response is not 0");
    criterion.bench_function("multisig/check_response", |bencher| {
        bencher
            .iter(|| response.check(black_box(&challenge), &key.public_key(), &point).expect("the response is right"));
    });
}

/// Returns the co-signature of a header. In both rounds, as many of the first members sign as a quorum needs.
fn cosign_together(header: &[u8], members: &[KeyPair]) -> CoSignatures {
    let quorum = cosign::quorum(members.len());
    let (signers, _) = members.split_at(quorum);
    let bitmap: Vec<_> = (0..members.len()).map(|member| member < quorum).collect();
    let cs1 = sign_together(header, signers);
    let mut cosignatures = CoSignatures { cs1, b1: bitmap.clone(), cs2: Signature::ZERO, b2: bitmap };
    let message = cosignatures.message_for_second_round(header).expect("the bits are countable");
    cosignatures.cs2 = sign_together(&message, signers);
    cosignatures
}

fn sign_together(message: &[u8], signers: &[KeyPair]) -> Signature {
    let mut digests = ChaCha8Rng::seed_from_u64(message.len() as u64);
    let secrets: Vec<_> = signers.iter().map(|_| CommitSecret::generate(&mut digests)).collect();
    let points: Vec<_> = secrets.iter().map(CommitSecret::point).collect();
    let keys: Vec<PublicKey> = signers.iter().map(KeyPair::public_key).collect();
    let point = CommitPoint::aggregate(&points).expect("the points have a sum");
    let key = aggregate_keys(&keys).expect("the keys have a sum");
    let challenge = Challenge::new(&point, &key, message).expect("the message is not empty");
    let responses: Vec<_> = secrets
        .into_iter()
        .zip(signers)
        .map(|(secret, signer)| secret.respond(&challenge, signer.secret()).expect("the response is not 0"))
        .collect();
    combine(&challenge, &responses).expect("the sum is not 0")
}

/// Measures the verification of Schnorr and of ECDSA signatures in turns, so that other load slows both equally.
#[expect(clippy::print_stdout, reason = "criterion prints its results there too")]
fn turn_by_turn(_: &mut Criterion) {
    let cases: Vec<_> = (0..SIGNERS).map(Case::new).collect();
    let turns = || cases.iter().cycle().take(128 * cases.len());
    let (schnorr, ecdsa): (Vec<_>, Vec<_>) =
        turns().map(|case| (time(verify_schnorr, case), time(verify_ecdsa, case))).unzip();
    let (schnorr, ecdsa) = (median(schnorr), median(ecdsa));
    let permille = schnorr.as_nanos() * 1000 / ecdsa.as_nanos();
    println!("turn by turn, medians: schnorr/verify {schnorr:?}, ecdsa/verify_with_parse {ecdsa:?}, {permille} : 1000");
}

fn time(operation: fn(&Case), case: &Case) -> Duration {
    let start = Instant::now();
    operation(black_box(case));
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    let middle = times.len() / 2;
    *times.select_nth_unstable(middle).1
}

criterion_group!(benches, verification, signing, co_signatures, turn_by_turn);
criterion_main!(benches);
