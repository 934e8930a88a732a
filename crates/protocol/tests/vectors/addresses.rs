use silica_protocol::{Address, Nonce, PublicKey, sha256};

use crate::case::{Case, for_each_case};

#[test]
fn address_vectors_hold() {
    for_each_case("addresses.json", |case| match &*case.text("kind") {
        "pubkey_to_address" => pubkey_to_address(case),
        "checksum" => checksum(case),
        "checksum_invalid" => {
            let input = case.text("input");
            assert!(Address::from_checksum(&input).is_err(), "{input}");
        }
        "checksum_valid_forms" => {
            let address: Address = case.parse("address");
            for form in case.parse_list::<String>("forms") {
                assert_eq!(Address::from_checksum(&form), Ok(address));
            }
        }
        "bech32" => bech32(case),
        "bech32_invalid" => {
            let input = case.text("input");
            assert!(Address::from_bech32(&input).is_err(), "{input}");
        }
        "base16_input" => base16_input(case),
        "contract_address" => contract_address(case),
        kind => panic!("{}: unknown kind {kind}", case.label()),
    });
}

fn pubkey_to_address(case: &mut Case) {
    case.skip("name");
    case.skip("private_key");
    let key: PublicKey = case.parse("public_key");
    let address = Address::from_public_key(&key);
    if case.has("sha256") {
        assert_eq!(case.bytes("sha256"), sha256(&[key.as_bytes()]));
    }
    if case.has("bech32") {
        assert_eq!(case.text("bech32"), address.to_bech32());
    }
    assert_eq!(address, case.parse("address"));
}

fn checksum(case: &mut Case) {
    let address: Address = case.parse("address");
    let checksummed = case.text("checksummed");
    if case.has("sha256") {
        assert_eq!(case.bytes("sha256"), sha256(&[address.as_bytes()]));
    }
    assert_eq!(address.to_checksum(), checksummed);
    assert_eq!(Address::from_checksum(&checksummed), Ok(address));
    assert_eq!(Address::from_checksum(&format!("0x{checksummed}")), Ok(address));
}

fn bech32(case: &mut Case) {
    let address: Address = case.parse("address");
    let text = case.text("bech32");
    assert_eq!(address.to_bech32(), text);
    assert_eq!(Address::from_bech32(&text), Ok(address));
}

fn base16_input(case: &mut Case) {
    let parsed = case.text("input").parse::<Address>();
    if case.flag("accepted") {
        assert_eq!(parsed, Ok(case.parse("address")));
    } else {
        assert!(parsed.is_err());
    }
}

fn contract_address(case: &mut Case) {
    case.skip("name");
    let sender: Address = case.parse("sender");
    let nonce = Nonce::new(case.number("txn_nonce")).previous().unwrap();
    let contract: Address = case.parse("contract_address");
    assert_eq!(Address::of_contract(&sender, nonce), contract);
    assert_eq!(sha256(&[&case.bytes("preimage")])[12..], contract.as_bytes()[..]);
}
