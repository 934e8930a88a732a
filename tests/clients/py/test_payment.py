"""Uses payments with an unmodified pyzil: creates an account, pays it, waits for confirmation, and reads all data.

SILICA_URL is the URL of the node, and SILICA_KEY the private key of a funded account. Other programs must not use this
account during the test.
"""

import hashlib
import os
import unittest

from pyzil.account import Account, BatchTransfer
from pyzil.zilliqa import chain
from pyzil.zilliqa.api import APIError
from pyzil.zilliqa.units import Qa, Zil

CHAIN_ID = 222
VERSION = CHAIN_ID * 65536 + 1
GAS = 50


class Payments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # pyzil has names for public networks only. Another network is a new object of the same class.
        local = chain.BlockChain(os.environ["SILICA_URL"], version=VERSION, network_id=CHAIN_ID)
        chain.set_active_chain(local)
        cls.api = local.api
        cls.payer = Account(private_key=os.environ["SILICA_KEY"])
        cls.fee = GAS * int(cls.api.GetMinimumGasPrice())

    def pay(self, payer, to, zils):
        """Pays like an application: submits the payment, and polls GetTransaction until it returns the payment."""
        details = payer.transfer(to_addr=to, zils=zils, gas_limit=GAS, confirm=True, timeout=20, sleep=0.1)
        self.assertIsNotNone(details)
        self.assertTrue(details["receipt"]["success"])
        return details

    def assert_refused(self, message, call, *params):
        with self.assertRaises(APIError) as refusal:
            call(*params)
        self.assertEqual(message, str(refusal.exception))

    def test_network_id(self):
        self.assertEqual(str(CHAIN_ID), self.api.GetNetworkId())

    def test_account_nobody_has_paid(self):
        stranger = Account.generate()
        self.assertEqual(0, stranger.get_balance())
        self.assertEqual(0, stranger.get_nonce())
        self.assert_refused("Account is not created", self.api.GetBalance, stranger.address)

    def test_new_account_is_paid_and_pays_in_turn(self):
        created = Account.generate()
        balance, nonce = self.payer.get_balance_qa(), self.payer.get_nonce()
        paid = Qa(25 * 10**12)

        self.pay(self.payer, created.bech32_address, paid)
        self.assertEqual(balance - paid - self.fee, self.payer.get_balance_qa())
        self.assertEqual(nonce + 1, self.payer.get_nonce())
        self.assertEqual(paid, created.get_balance_qa())
        self.assertEqual(paid, Qa(self.api.GetBalance(created.bech32_address)["balance"]))

        back = Qa(10**12)
        self.pay(created, self.payer.bech32_address, back)
        self.assertEqual(paid - back - self.fee, created.get_balance_qa())
        self.assertEqual(1, created.get_nonce())

    def test_payment_is_found_again(self):
        to = Account.generate()
        details = self.pay(self.payer, to.checksum_address, Zil(3))
        tx_id = self.payer.last_txn_info["TranID"]
        self.assertEqual("Non-contract txn, sent to shard", self.payer.last_txn_info["Info"])

        self.assertEqual(details, self.api.GetTransaction(tx_id))
        self.assertEqual(tx_id, details["ID"])
        self.assertEqual(to.address, details["toAddr"])
        self.assertEqual(str(Qa(3 * 10**12).__int__()), details["amount"])
        self.assertEqual(self.payer.public_key.lower(), details["senderPubKey"][2:].lower())
        self.assertEqual(str(GAS), details["receipt"]["cumulative_gas"])

        epoch = details["receipt"]["epoch_num"]
        block = self.api.GetTxBlock(epoch)
        self.assertEqual(epoch, block["header"]["BlockNum"])
        self.assertTrue(any(tx_id in shard for shard in self.api.GetTransactionsForTxBlock(epoch)))
        self.assertIn(details, self.api.GetTxnBodiesForTxBlock(epoch))
        self.assertIn(tx_id, self.api.GetRecentTransactions()["TxnHashes"])

    def test_batch_is_executed(self):
        # A pool with one thread keeps the payments of pyzil in the order of their nonces.
        recipients = [Account.generate() for _ in range(3)]
        batch = [BatchTransfer(to_addr=account.bech32_address, zils=2) for account in recipients]
        results = self.payer.transfer_batch(batch, gas_limit=GAS, max_workers=1)
        self.assertTrue(all(result and "TranID" in result for result in results), results)
        for account in recipients:
            self.assertEqual(Qa(2 * 10**12), account.get_balance_qa())

    def test_refusals_say_why(self):
        nonce = self.payer.get_nonce()
        to = Account.generate().bech32_address
        params = chain.active_chain.build_transaction_params(
            self.payer.zil_key, Account.generate().checksum_address, 1, nonce, self.fee // GAS, GAS
        )
        self.assert_refused(f"Nonce ({nonce}) lower than current ({nonce})", self.api.CreateTransaction, params)
        poor = Account.generate()
        self.pay(self.payer, poor.bech32_address, Qa(10))
        with self.assertRaises(APIError) as refusal:
            poor.transfer(to_addr=to, zils=Qa(1), gas_limit=GAS)
        self.assertEqual("Insufficient funds in source account!", str(refusal.exception))

    def test_blocks_listings_and_statistics_agree(self):
        api = self.api
        latest = api.GetLatestTxBlock()
        number = latest["header"]["BlockNum"]
        self.assertEqual(latest, api.GetTxBlock(number))
        previous = api.GetTxBlock(str(int(number) - 1))
        self.assertEqual(previous["body"]["BlockHash"], latest["header"]["PrevBlockHash"])
        listing = api.TxBlockListing(1)
        self.assertEqual(int(number), listing["data"][0]["BlockNum"])
        self.assertEqual(int(number) // 10 + 1, listing["maxPages"])

        latest_ds = api.GetLatestDsBlock()
        ds_number = latest_ds["header"]["BlockNum"]
        self.assertEqual(latest_ds, api.GetDsBlock(ds_number))
        self.assertEqual(int(ds_number), api.DSBlockListing(1)["data"][0]["BlockNum"])

        info = api.GetBlockchainInfo()
        self.assertEqual(str(int(number) + 1), info["NumTxBlocks"])
        for member, method in {
            "CurrentDSEpoch": api.GetCurrentDSEpoch,
            "CurrentMiniEpoch": api.GetCurrentMiniEpoch,
            "DSBlockRate": api.GetDSBlockRate,
            "NumDSBlocks": api.GetNumDSBlocks,
            "NumTransactions": api.GetNumTransactions,
            "NumTxBlocks": api.GetNumTxBlocks,
            "NumTxnsDSEpoch": api.GetNumTxnsDSEpoch,
            "NumTxnsTxEpoch": api.GetNumTxnsTxEpoch,
            "TransactionRate": api.GetTransactionRate,
            "TxBlockRate": api.GetTxBlockRate,
        }.items():
            self.assertEqual(info[member], method(), member)
        self.assertEqual(latest_ds["header"]["Difficulty"], api.GetPrevDifficulty())
        self.assertEqual(latest_ds["header"]["DifficultyDS"], api.GetPrevDSDifficulty())

    def test_account_without_code_has_nothing_to_prove(self):
        address = self.payer.address
        variable = hashlib.sha256(f"{address}\x16counter\x16".encode()).hexdigest()
        self.assert_refused("Address not contract address", self.api.GetSmartContractInit, address)
        self.assert_refused("Address not contract address", self.api.GetStateProof, address, variable, "latest")
        self.assert_refused("Requested txBlock not mined yet", self.api.GetStateProof, address, variable, "9999999")


if __name__ == "__main__":
    unittest.main()
