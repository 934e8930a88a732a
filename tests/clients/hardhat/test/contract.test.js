// Deploys, calls and reads contracts of this repository with hardhat-scilla-plugin.
const chai = require("chai");
const hre = require("hardhat");
const { BN, initZilliqa, scillaChaiEventMatcher } = require("hardhat-scilla-plugin");

chai.use(scillaChaiEventMatcher);
const { expect } = chai;

const ATTEMPTS = 20;
const PAUSE_MS = 20;

describe("hardhat-scilla-plugin", () => {
  let owner;
  let other;

  before(() => {
    const setup = initZilliqa(hre.getNetworkUrl(), hre.getZilliqaChainId(), hre.getPrivateKeys(), ATTEMPTS, PAUSE_MS);
    [owner, other] = setup.accounts;
  });

  const addressOf = (account) => account.address.toLowerCase();

  describe("HelloWorld", () => {
    let contract;

    before(async () => {
      contract = await hre.deployScillaContract("HelloWorld", addressOf(owner));
    });

    it("is deployed, and its fields and parameters are read", async () => {
      expect(contract.address).to.match(/^0x[0-9a-fA-F]{40}$/);
      expect(contract.deployed_by.getReceipt().success).to.equal(true);
      expect(await contract.greeting()).to.equal("Hello, world");
      expect(await contract.owner()).to.equal(addressOf(owner));
      expect(await contract.visits()).to.deep.equal({});
    });

    it("emits an event", async () => {
      const tx = await contract.Greet();
      expect(tx).to.have.eventLog("Greeting");
      expect(tx).to.have.eventLogWithParams(
        "Greeting",
        { type: "ByStr20", vname: "to", value: addressOf(owner) },
        { value: "Hello, world", vname: "text" },
      );
      expect(() => expect(tx).to.have.eventLog("Farewell")).to.throw(chai.AssertionError);
      expect(() => expect(tx).to.have.eventLogWithParams("Greeting", { value: "Bye" })).to.throw(chai.AssertionError);
      expect(await contract.visits()).to.deep.equal({ [addressOf(owner)]: "1" });
    });

    it("accepts changes from its owner only", async () => {
      const changed = await contract.SetGreeting("Good day");
      expect(changed.getReceipt().success).to.equal(true);
      expect(await contract.greeting()).to.equal("Good day");

      const refused = await contract.connect(other).SetGreeting("Go away");
      expect(refused.getReceipt().success).to.equal(false);
      expect(refused.getReceipt().exceptions[0].message).to.contain("NotTheOwner");
      expect(await contract.greeting()).to.equal("Good day");
      contract.connect(owner);
    });

    it("is found by its address", async () => {
      const found = await hre.interactWithScillaContract(contract.address);
      expect(await found.greeting()).to.equal("Good day");
      expect(await found.Greet()).to.have.eventLog("Greeting");
    });
  });

  it("moves tokens", async () => {
    const token = await hre.deployScillaContract("FungibleToken", addressOf(owner), "Token", "TOK", 2, 1000, []);
    expect(await token.total_supply()).to.equal(1000);
    expect(await token.decimals()).to.equal(2);
    const tx = await token.Transfer(addressOf(other), 300);
    expect(tx).to.have.eventLogWithParams(
      "TransferSuccess",
      { vname: "recipient", value: addressOf(other) },
    );
    expect(await token.balances()).to.deep.equal({ [addressOf(owner)]: "700", [addressOf(other)]: "300" });
    const tooMuch = await token.Transfer(addressOf(other), 701);
    expect(tooMuch.getReceipt().success).to.equal(false);
    expect(await token.balances()).to.deep.equal({ [addressOf(owner)]: "700", [addressOf(other)]: "300" });
  });

  it("links a library, and sends money with a call", async () => {
    const library = await hre.deployScillaLibrary("Escrow");
    const libraries = [{ name: "Escrow", address: library.address.toLowerCase() }];
    const campaign = await hre.deployScillaContractWithLib("Crowdfunding", libraries, addressOf(owner), "1000000", 50);
    const tx = await campaign.connect(other).Donate({ amount: new BN(20) });
    expect(tx).to.have.eventLog("Donated");
    expect(await campaign.raised()).to.equal(20);
    expect(await campaign.donations()).to.deep.equal({ [addressOf(other)]: "20" });
    const [balance] = await hre.zilliqa.getBalanceForAddress(campaign.address);
    expect(balance.toString()).to.equal("20");
  });

  it("pays", async () => {
    const [stranger] = hre.zilliqa.pushPrivateKey(hre.zilliqa.createPrivateKey());
    expect((await hre.zilliqa.getBalance(stranger)).map(String)).to.deep.equal(["0", "-1"]);
    const tx = await hre.zilliqa.transferTo(stranger, new BN(7));
    expect(tx.getReceipt().success).to.equal(true);
    expect((await hre.zilliqa.getBalance(stranger)).map(String)).to.deep.equal(["7", "0"]);
  });

  it("checks contracts", async () => {
    const check = async (libdir, ...contracts) => {
      const { error, log } = console;
      const said = [];
      console.error = (text) => said.push(text);
      console.log = (text) => said.push(text);
      try {
        await hre.run("scilla-check", { libdir, contracts });
      } finally {
        console.error = error;
        console.log = log;
      }
      return said.filter((text) => !text.includes("Checking"));
    };
    const [hello, campaign] = ["hello_world/hello_world", "crowdfunding/crowdfunding"];
    const said = await check("contracts/escrow", `contracts/${hello}.scilla`, `contracts/${campaign}.scilla`);
    expect(said).to.have.lengthOf(2);
    said.forEach((text) => expect(text).to.match(/^gas_remaining: \d+\s*$/));
    // This directory does not contain the library.
    const refused = await check("contracts/auction", `contracts/${campaign}.scilla`);
    expect(refused).to.deep.equal(["Failed to run scilla-checker"]);
  });
});
