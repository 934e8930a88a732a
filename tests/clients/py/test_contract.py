"""Uses contracts with an unmodified pyzil: deploys them, calls them with success and failure, and reads their data.

SILICA_URL is the URL of the node, and SILICA_KEY the private key of a funded account. Other programs must not use this
account during the test.
"""

import hashlib
import json
import os
import pathlib
import unittest

from pyzil.account import Account
from pyzil.contract import Contract
from pyzil.zilliqa import chain
from pyzil.zilliqa.api import APIError
from pyzil.zilliqa.units import Qa, Zil

CHAIN_ID = 222
ROOT = pathlib.Path(__file__).parents[3]
TRUE = {"constructor": "True", "argtypes": [], "arguments": []}
FALSE = {"constructor": "False", "argtypes": [], "arguments": []}

param = Contract.value_dict


def adt(constructor, argtypes=(), arguments=()):
    return {"constructor": constructor, "argtypes": list(argtypes), "arguments": list(arguments)}


def read(path):
    return (ROOT / path).read_text()


class Contracts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        local = chain.BlockChain(os.environ["SILICA_URL"], version=CHAIN_ID * 65536 + 1, network_id=CHAIN_ID)
        chain.set_active_chain(local)
        cls.api = local.api
        cls.payer = Account(private_key=os.environ["SILICA_KEY"])
        cls.gas_price = int(cls.api.GetMinimumGasPrice())
        # A separate account, so that the order of the test files does not change the nonces.
        cls.owner = cls.funded(100_000)

    @classmethod
    def funded(cls, zils):
        account = Account.generate()
        cls.payer.transfer(account.bech32_address, Zil(zils), gas_limit=50, confirm=True, timeout=20, sleep=0.05)
        return account

    def deploy(self, path, *params, account=None):
        contract = Contract.new_from_code(read(path))
        contract.account = account or self.owner
        init = [param("_scilla_version", "Uint32", "0"), *params]
        contract.deploy(init_params=init, gas_limit=60_000, timeout=20, sleep=0.05)
        return contract

    def deployed(self, path, *params, account=None):
        contract = self.deploy(path, *params, account=account)
        self.assertEqual(Contract.Status.Deployed, contract.status, contract.last_receipt)
        return contract

    def receipt(self, contract, tag, *params, account=None, **more):
        contract.account = account or self.owner
        gas_limit = more.pop("gas_limit", 60_000)
        contract.call(tag, list(params), gas_limit=gas_limit, timeout=20, sleep=0.05, **more)
        return contract.last_receipt

    def call(self, *args, **more):
        receipt = self.receipt(*args, **more)
        self.assertTrue(receipt["success"], receipt)
        return receipt

    def assert_fails(self, receipt, errors, *messages):
        self.assertEqual((False, errors), (receipt["success"], receipt["errors"]), receipt)
        self.assertEqual(list(messages), [each["message"] for each in receipt["exceptions"]])
        self.assertNotIn("event_logs", receipt)
        self.assertNotIn("transitions", receipt)

    def sub(self, contract, name, *indices):
        return self.api.GetSmartContractSubState(contract.address, name, list(indices))

    def token(self, account, supply):
        return self.deployed(
            "contracts/fungible_token/fungible_token.scilla",
            param("contract_owner", "ByStr20", account.address0x),
            param("name", "String", "Gold"),
            param("symbol", "String", "GLD"),
            param("decimals", "Uint32", "2"),
            param("init_supply", "Uint128", str(supply)),
            param("default_operators", "List (ByStr20)", []),
            account=account,
        )

    def test_greeting_is_deployed_called_and_read_back(self):
        path = "contracts/hello_world/hello_world.scilla"
        contract = self.deployed(path, param("owner", "ByStr20", self.owner.address0x))
        self.assertEqual("Contract Creation txn, sent to shard", self.owner.last_txn_info["Info"])
        receipt = self.call(contract, "Greet")
        # pyzil sets `priority` by default.
        self.assertEqual("Contract Txn, Sent To Ds", self.owner.last_txn_info["Info"])
        self.assertEqual(
            [
                {
                    "_eventname": "Greeting",
                    "address": contract.address0x,
                    "params": [
                        param("to", "ByStr20", self.owner.address0x),
                        param("text", "String", "Hello, world"),
                    ],
                }
            ],
            receipt["event_logs"],
        )
        self.call(contract, "SetGreeting", param("text", "String", 'Good "morning" \\'), priority=False)
        self.assertEqual(
            "Contract Txn, Shards Match of the sender and reciever", self.owner.last_txn_info["Info"]
        )

        for address in (contract.address, contract.checksum_address, contract.bech32_address):
            loaded = Contract.load_from_address(address)
            self.assertEqual(contract, loaded)
            self.assertEqual(read(path), loaded.code)
            self.assertEqual(
                {"_balance": "0", "greeting": 'Good "morning" \\', "visits": {self.owner.address0x: "1"}}, loaded.state
            )
            names = [each["vname"] for each in loaded.init]
            self.assertEqual(["_scilla_version", "owner", "_creation_block", "_this_address"], names)
        self.assertIn({"address": contract.address}, self.api.GetSmartContracts(self.owner.address))

        other = self.funded(1000)
        before = other.get_balance_qa()
        receipt = self.receipt(contract, "SetGreeting", param("text", "String", "Mine"), account=other)
        thrown = f'(_exception : (String "NotTheOwner")) ; (caller : (ByStr20 {other.address0x}))'
        self.assert_fails(
            receipt, {"0": [7]}, f"Exception thrown: (Message [{thrown}])", "Raised from SetGreeting"
        )
        fee = int(receipt["cumulative_gas"]) * self.gas_price
        self.assertEqual((before - Qa(fee), 1), (other.get_balance_qa(), other.get_nonce()))

    def test_parameters_of_every_type(self):
        token = self.token(self.owner, 1000)
        key, me = "0x" + "03" * 33, self.owner.address0x
        share = adt("Pair", ["ByStr20", "Uint128"], [me, "7"])
        contract = self.deployed(
            "tests/data/contracts/parameters.scilla",
            param("big", "Int256", str(-(2**255))),
            param("key", "ByStr33", key),
            param("bytes", "ByStr", "0x"),
            param("since", "BNum", "100"),
            param("flag", "Bool", TRUE),
            param("maybe", "Option (Uint32)", adt("Some", ["Uint32"], ["5"])),
            param("shares", "List (Pair (ByStr20) (Uint128))", [share]),
            param("token", "ByStr20", token.address0x),
        )

        def own(name):
            return f"{contract.address0x}.{name}"

        corner = adt("Pair", ["Int32", "Int32"], ["-1", "1"])
        calls = {
            "TakeSigned": [(f"int{bits}", f"Int{bits}", str(-(2 ** (bits - 1)))) for bits in (32, 64, 128, 256)],
            "TakeUnsigned": [(f"uint{bits}", f"Uint{bits}", str(2**bits - 1)) for bits in (32, 64, 128, 256)],
            "TakeText": [("text", "String", 'some \\ "text"')],
            "TakeBytes": [
                ("bystr", "ByStr", "0x00ff"),
                ("bystr4", "ByStr4", "0xdeadbeef"),
                ("bystr20", "ByStr20", me),
                ("bystr33", "ByStr33", "0x" + "ab" * 33),
            ],
            "TakeBlock": [("block", "BNum", str(2**64))],
            "TakeData": [
                ("bool", "Bool", FALSE),
                ("option", "Option (Uint32)", adt("None", ["Uint32"])),
                ("pair", "Pair (String) (Int32)", adt("Pair", ["String", "Int32"], ["left", "-1"])),
                ("list", "List (Pair (ByStr20) (Uint128))", [share, share]),
                (
                    "nested",
                    "List (Option (List (Bool)))",
                    [adt("Some", ["List (Bool)"], [[TRUE, FALSE]]), adt("None", ["List (Bool)"])],
                ),
            ],
            "TakeShape": [("shape", own("Shape"), adt(own("Polygon"), [], [[corner]]))],
        }
        for tag, values in calls.items():
            params = [param(name, kind, value) for name, (_, kind, value) in zip("abcdf", values)]
            receipt = self.call(contract, tag, *params)
            self.assertEqual(params, receipt["event_logs"][0]["params"], tag)
            for field, _, value in values:
                self.assertEqual({field: value}, self.sub(contract, field))

        point, circle = adt(own("Point")), adt(own("Circle"), [], ["3"])
        entries = ("1", "-1", 'a "b"', point), ("1", "-1", "", circle), ("2", "0", "x", point)
        for block, number, text, shape in entries:
            keys = param("a", "BNum", block), param("b", "Int32", number), param("c", "String", text)
            self.call(contract, "PutShape", *keys, param("d", own("Shape"), shape))
        shapes = {"1": {"-1": {'a "b"': point, "": circle}}, "2": {"0": {"x": point}}}
        self.assertEqual({"shapes": shapes}, self.sub(contract, "shapes"))
        self.assertEqual({"shapes": {"1": shapes["1"]}}, self.sub(contract, "shapes", "1"))
        self.assertEqual({"shapes": {"1": {"-1": {"": circle}}}}, self.sub(contract, "shapes", "1", "-1", ""))
        self.assertIsNone(self.sub(contract, "shapes", "1", "0"))
        self.assertIsNone(self.sub(contract, "nothing"))
        self.assertEqual(contract.get_state(), self.sub(contract, ""))
        state = contract.get_state()
        del state["_balance"]
        self.assertEqual(state, self.sub(contract, "", "ignored"))
        self.assertEqual({"_balance": "0"}, self.sub(contract, "_balance"))

    def test_tokens_move_between_contracts(self):
        maker, taker = self.funded(1000), self.funded(1000)
        gold, iron = self.token(maker, 100), self.token(taker, 5000)
        exchange = self.deployed("contracts/token_exchange/token_exchange.scilla")
        for token, holder, amount in ((gold, maker, "10"), (iron, taker, "500")):
            spender = param("spender", "ByStr20", exchange.address0x)
            self.call(token, "IncreaseAllowance", spender, param("amount", "Uint128", amount), account=holder)
        order = [
            param("give_amount", "Uint128", "10"),
            param("want", "ByStr20", iron.address0x),
            param("want_amount", "Uint128", "500"),
            param("last_block", "BNum", "1000000"),
        ]
        wrong = self.receipt(exchange, "OpenOrder", param("give", "ByStr20", maker.address0x), *order, account=maker)
        self.assert_fails(wrong, {"0": [7]}, f"No contract found at address: {maker.address0x}")
        self.call(exchange, "OpenOrder", param("give", "ByStr20", gold.address0x), *order, account=maker)
        receipt = self.call(exchange, "FillOrder", param("id", "Uint32", "1"), account=taker)
        names = [event["_eventname"] for event in receipt["event_logs"]]
        self.assertEqual(["OrderFilled", "TransferFromSuccess", "TransferFromSuccess"], names)
        self.assertEqual([0, 1, 1, 0, 1, 1], [message["depth"] for message in receipt["transitions"]])
        self.assertEqual({maker.address0x: "90", taker.address0x: "10"}, self.sub(gold, "balances")["balances"])
        self.assertEqual({maker.address0x: "500", taker.address0x: "4500"}, self.sub(iron, "balances")["balances"])
        self.assertEqual({"orders": {}}, self.sub(exchange, "orders"))

    def test_wallet_pays_what_its_owners_have_signed(self):
        other, friend = self.funded(1000), Account.generate()
        wallet = self.deployed(
            "contracts/multisig_wallet/multisig_wallet.scilla",
            param("initial_owners", "List (ByStr20)", [self.owner.address0x, other.address0x]),
            param("initial_threshold", "Uint32", "2"),
        )
        self.assertTrue(self.call(wallet, "AddFunds", amount=5)["accepted"])
        payment = param("to", "ByStr20", friend.address0x), param("amount", "Uint128", str(2 * 10**12))
        self.call(wallet, "ProposePayment", *payment, param("tag", "String", ""))
        early = self.receipt(wallet, "Execute", param("id", "Uint32", "1"))
        code = '(Message [(_exception : (String "Error")) ; (code : (Int32 -6))])'
        # The exception lists completed procedures, and not the active ones.
        raised = [f"Raised from {name}" for name in ("RequireCurrent", "RequireOwner", "Execute")]
        self.assert_fails(early, {"0": [7]}, f"Exception thrown: {code}", *raised)
        self.call(wallet, "Sign", param("id", "Uint32", "1"), account=other)
        self.call(wallet, "Execute", param("id", "Uint32", "1"))
        self.assertEqual(Qa(2 * 10**12), friend.get_balance_qa())
        self.assertEqual(str(3 * 10**12), wallet.get_state()["_balance"])

    def test_library_is_imported(self):
        library = self.deployed("contracts/escrow/Escrow.scillib", param("_library", "Bool", TRUE))
        extlibs = adt("Pair", ["String", "ByStr20"], ["Escrow", library.address0x])
        campaign = self.deployed(
            "contracts/crowdfunding/crowdfunding.scilla",
            param("_extlibs", "List(Pair String ByStr20)", [extlibs]),
            param("owner", "ByStr20", self.owner.address0x),
            param("last_block", "BNum", "1000000"),
            param("goal", "Uint128", "1"),
        )
        receipt = self.call(campaign, "Donate", amount=3)
        self.assertEqual(str(3 * 10**12), receipt["event_logs"][0]["params"][1]["value"])
        self.assertEqual(str(3 * 10**12), self.api.GetBalance(campaign.address)["balance"])

    def test_failures_say_where(self):
        relay = self.deployed("tests/data/contracts/relay.scilla")
        other = self.deployed("tests/data/contracts/relay.scilla")

        def forward(to, tag, amount="0"):
            return [param("to", "ByStr20", to), param("tag", "String", tag), param("amount", "Uint128", amount)]

        def failed(by):
            return f'Exception thrown: (Message [(_exception : (String "Failed")) ; (by : (ByStr20 {by}))])'

        there = other.address0x
        poor = "The balance is too low to transfer all the funds in the messages: balance = 0, amount to transfer = 1"
        times = param("times", "Uint32", "21")
        for tag, params, errors, messages in (
            ("Fail", [], {"0": [7]}, [failed(relay.address0x), "Raised from Count", "Raised from Fail"]),
            ("Forward", forward(there, "Fail"), {"1": [7]}, [failed(there), "Raised from Count", "Raised from Fail"]),
            ("Forward", forward(there, "Gone"), {"1": [7]}, ["No contract transition for tag found: Gone"]),
            ("Forward", forward(there, "Take", "1"), {"0": [7]}, [poor]),
            ("Forward", forward("0x" + "0" * 40, ""), {"0": [14]}, []),
            ("Repeat", [times], {"21": [15]}, []),
            ("Repeat", [], {"0": [7]}, ["No message entry found matching parameter: times"]),
            ("Take", [times], {"0": [7]}, ["No parameter found matching message entry: times"]),
            ("Gone", [], {"0": [7]}, ["No contract transition for tag found: Gone"]),
        ):
            self.assert_fails(self.receipt(relay, tag, *params), errors, *messages)
        spent = self.receipt(relay, "Take", gas_limit=301)
        self.assert_fails(spent, {"0": [7]}, "Insufficient gas to parse message")
        self.assertEqual({"_balance": "0", "taken": "0"}, relay.get_state())

        rejected = self.deploy("contracts/hello_world/hello_world.scilla")
        self.assertEqual(Contract.Status.Rejected, rejected.status)
        self.assertEqual({"0": [8, 1]}, rejected.last_receipt["errors"])

        for address, message in (
            (self.payer.address, "Non - contract address called"),
            (Account.generate().address, "To addr is null"),
        ):
            none = Contract(address=address, status=Contract.Status.Deployed)
            with self.assertRaises(APIError) as refusal:
                self.receipt(none, "Take")
            self.assertEqual(message, str(refusal.exception))

    def test_proof_leads_from_the_root_of_its_block(self):
        relay = self.deployed("tests/data/contracts/relay.scilla")
        name = hashlib.sha256(f"{relay.address}\x16taken\x16".encode()).hexdigest()
        proof = self.api.GetStateProof(relay.address, name, "latest")
        self.assertEqual({"accountProof", "stateProof"}, set(proof))
        # The leaf contains the value unchanged. The tests of other clients verify the tries.
        self.assertTrue(any(node.endswith(b'"0"'.hex().upper()) for node in proof["stateProof"]), json.dumps(proof))


if __name__ == "__main__":
    unittest.main()
