"""Scans Tx blocks for deposits: python3 deposits.py URL FILE FIRST-BLOCK ADDRESS..."""

import json
import os
import sys
import time
from urllib.request import Request, urlopen


def plain(address):
    return address.lower().removeprefix("0x")


def call(method, *params):
    body = json.dumps({"id": 1, "jsonrpc": "2.0", "method": method, "params": params}).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=30) as response:
        answer = json.load(response)
    if "error" in answer:
        raise RuntimeError(f"{method}: {answer['error']}")
    return answer["result"]


url, file, first, *addresses = sys.argv[1:]
watched = {plain(address) for address in addresses}
# The next block, the hash of the block before it, and all deposits.
state = {"next": int(first), "parent": None, "deposits": {}}
if os.path.exists(file):
    with open(file) as stored:
        state = json.load(stored)
while True:
    latest = int(call("GetLatestTxBlock")["header"]["BlockNum"])
    while state["next"] <= latest:
        block = call("GetTxBlock", str(state["next"]))
        number, header = state["next"], block["header"]
        if int(header["BlockNum"]) != number or state["parent"] not in (None, header["PrevBlockHash"]):
            raise RuntimeError(f"block {number} does not follow block {state['parent']}")
        transactions = []
        for page in range(header["NumPages"]):
            transactions += call("GetTxnBodiesForTxBlockEx", str(number), str(page))["Transactions"]
        if len(transactions) != header["NumTxns"]:
            raise RuntimeError(f"block {number} lacks transactions")
        for transaction in transactions:
            if not transaction["receipt"]["success"]:
                continue
            messages = [transition["msg"] for transition in transaction["receipt"].get("transitions", [])]
            transfers = [(transaction["toAddr"], transaction["amount"])]
            transfers += [(message["_recipient"], message["_amount"]) for message in messages]
            for index, (recipient, amount) in enumerate(transfers):
                if plain(recipient) in watched and int(amount) > 0:
                    deposit = {"address": plain(recipient), "amount": amount, "block": number}
                    state["deposits"][f"{transaction['ID']}:{index}"] = deposit
        state.update(next=number + 1, parent=block["body"]["BlockHash"])
        with open(file + ".new", "w") as new:
            json.dump(state, new)
            new.flush()
            os.fsync(new.fileno())
        os.replace(file + ".new", file)
    time.sleep(1)
