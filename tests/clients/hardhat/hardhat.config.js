// The node at SILICA_URL, and published keys of three accounts with money on each new chain. They protect no money.
require("hardhat-scilla-plugin");

module.exports = {
  defaultNetwork: "silica",
  networks: {
    silica: {
      url: process.env.SILICA_URL ?? "http://127.0.0.1:5555",
      // Ethereum methods return the chain id with this bit, and the plugin removes the bit.
      chainId: 0x8000 | 222,
      accounts: [
        "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89",
        "d96e9eb5b782a80ea153c937fa83e5948485fbfc8b7e7c069d7b914dbc350aba",
        "589417286a3213dceb37f8f89bd164c3505a4cec9200c61f7c6db13a30a71b45",
      ],
    },
  },
};
