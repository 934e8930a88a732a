use silica_protocol::pack_bits;

use crate::case::for_each_case;

#[test]
fn bit_vectors_hold() {
    let mut seen = 0;
    for_each_case("multisig.json", |case| match &*case.text("kind") {
        "bit_vector" => {
            let name = case.text("name");
            let bits: Vec<_> = case.text("bits").bytes().map(|bit| bit == b'1').collect();
            assert_eq!(pack_bits(&bits), Some(case.bytes("encoded")), "{name}");
            seen += 1;
        }
        // These kinds have curve points and scalars, which the crate `crypto` checks.
        "aggregate_keys" | "round" | "verify" | "verify_response" => case.skip_rest(),
        kind => panic!("{}: unknown kind {kind}", case.label()),
    });
    assert_eq!(seen, 10);
}
