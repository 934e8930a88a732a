// Generated from docs/openrpc.json by tools/rpc-types.mjs. Do not edit.

export type AccountChange = {
  address: string;
  balance?: {
  new: string;
  old?: string | null;
} | null;
  codeHash?: string | null;
  nonce?: {
  new: number;
  old?: number | null;
} | null;
  variables?: Array<VariableChange>;
};

export type AccountPage = {
  accounts: Array<AccountRow>;
  block: string;
  next?: string | null;
};

export type AccountRow = {
  address: string;
  balance: string;
  codeHash?: string | null;
  nonce: number;
};

export type Address = string;

export type AddressCursor = string;

export type AddressHistory = {
  next?: string | null;
  transactions: Array<AddressTransaction>;
};

export type AddressListOptions = {
  cursor?: AddressCursor | null;
  limit?: number | null;
};

export type AddressRole = "contract" | "recipient" | "sender" | "transition";

export type AddressTransaction = {
  amount: string;
  block: string;
  hash: string;
  position: number;
  recipient: string;
  roles: Array<AddressRole>;
  sender: string;
  success: boolean;
};

export type Amount = string;

export type ArrivalCursor = string;

export type Balance = {
  balance: string;
  nonce: number;
};

export type BalanceAt = {
  balance: string;
  block: string;
};

export type BareTransactionHash = string;

export type BlockCursor = string;

export type BlockListing = {
  data: Array<BlockListingEntry>;
  maxPages: number;
};

export type BlockListingEntry = {
  BlockNum: number;
  Hash: string;
};

export type BlockMode = string;

export type BlockNumber = string;

export type BlockNumberOrLatest = string;

export type BlockPage = {
  blocks: Array<BlockRow>;
  next?: string | null;
};

export type BlockRangeOptions = {
  cursor?: BlockCursor | null;
  from?: BlockNumber | null;
  limit?: number | null;
  order?: "newest" | "oldest";
};

export type BlockRow = {
  count: string;
  dsBlock: string;
  fees: string;
  from: string;
  gasUsed: string;
  hash: string;
  timestamp: string;
  to: string;
  transactions: number;
};

export type BlockchainInfo = {
  CurrentDSEpoch: string;
  CurrentMiniEpoch: string;
  DSBlockRate: number;
  NumDSBlocks: string;
  NumPeers: number;
  NumTransactions: string;
  NumTxBlocks: string;
  NumTxnsDSEpoch: string;
  NumTxnsTxEpoch: string;
  ShardingStructure: ShardingStructure;
  TransactionRate: number;
  TxBlockRate: number;
};

export type BlocksOptions = {
  bodies?: boolean | null;
};

export type CallTrace = {
  call?: TracedCall | null;
  simulation: Simulation;
  truncated: boolean;
};

export type CheckOptions = {
  libraries?: Record<string, Address> | null;
};

export type ContractCheck = {
  diagnostics: Array<Diagnostic>;
  interface?: ContractInterface | null;
  truncated: boolean;
};

export type ContractCode = {
  code: string;
};

export type ContractComponent = {
  documentation?: string | null;
  params: Array<TypedName>;
  span: SourceSpan;
  vname: string;
};

export type ContractEvent = {
  params: Array<TypedName>;
  vname: string;
};

export type ContractInterface = {
  ADTs: Array<DataType>;
  documentation?: string | null;
  events: Array<ContractEvent>;
  fields: Array<FieldInfo>;
  library: boolean;
  params: Array<TypedName>;
  procedures: Array<ContractComponent>;
  scilla_major_version: string;
  standards: Array<TokenStandard>;
  transitions: Array<ContractComponent>;
  vname: string;
};

export type ContractMessage = {
  _amount: string;
  _recipient: string;
  _tag: string;
  params: Array<ContractParam>;
};

export type ContractPage = {
  block: string;
  contracts: Array<ContractRow>;
  next?: string | null;
};

export type ContractParam = {
  type: string;
  value: unknown;
  vname: string;
};

export type ContractRow = {
  address: string;
  block: string;
  creator: string;
  hash: string;
  library: boolean;
  name?: string | null;
  position: number;
  token?: TokenDescription | null;
};

export type CreateTransactionResult = {
  ContractAddress?: string | null;
  Info: "Non-contract txn, sent to shard" | "Contract Creation txn, sent to shard" | "Contract Txn, Shards Match of the sender and reciever" | "Contract Txn, Sent To Ds";
  TranID: string;
};

export type DataType = {
  documentation?: string | null;
  tmap: Array<DataTypeConstructor>;
  tname: string;
  tparams: Array<string>;
};

export type DataTypeConstructor = {
  argtypes: Array<string>;
  cname: string;
};

export type DecimalNumber = string;

export type DeploymentHash = string;

export type Diagnostic = {
  end?: SourcePosition | null;
  file?: string | null;
  help?: string | null;
  message: string;
  notes: Array<string>;
  severity: Severity;
  start?: SourcePosition | null;
};

export type DsBlock = {
  B1?: Array<boolean> | null;
  B2?: Array<boolean> | null;
  CS1?: string | null;
  PrevDSHash?: string | null;
  header: DsBlockHeader;
  signature: string;
};

export type DsBlockHeader = {
  BlockNum: string;
  CommitteeHash?: string | null;
  Difficulty: number;
  DifficultyDS: number;
  EpochNum?: string | null;
  GasPrice: string;
  Governance?: Array<Proposal>;
  LeaderPubKey: string;
  MembersEjected?: Array<string> | null;
  PoWWinners: Array<string>;
  PoWWinnersIP?: Array<Peer> | null;
  PrevHash: string;
  ReservedField?: string | null;
  SWInfo?: SwInfo | null;
  ShardingHash?: string | null;
  Timestamp: string;
  Version?: number | null;
};

export type DsCommittee = {
  CurrentDSEpoch: string;
  CurrentTxEpoch: string;
  NumOfDSGuard: number;
  dscomm: Array<string>;
};

export type DumpName = string;

export type DumpReport = {
  block: string;
  bytes: number;
  file: string;
  stateRoot: string;
};

export type EthAddress = string;

export type EthBlock = {
  difficulty: string;
  extraData: string;
  gasLimit: string;
  gasUsed: string;
  hash: string;
  logsBloom: string;
  miner: string;
  mixHash: string;
  nonce: string;
  number: string;
  parentHash: string;
  receiptsRoot: string;
  sha3Uncles: string;
  size: string;
  stateRoot: string;
  timestamp: string;
  totalDifficulty: string;
  transactions: Array<string> | Array<EthTransaction>;
  transactionsRoot: string;
  uncles: Array<unknown>;
};

export type EthBlockHash = string;

export type EthBlockTag = string;

export type EthBytes = string;

export type EthId = string;

export type EthLog = {
  address: string;
  blockHash: string;
  blockNumber: string;
  data: string;
  logIndex: string;
  removed: boolean;
  topics: Array<string>;
  transactionHash: string;
  transactionIndex: string;
};

export type EthLogFilter = {
  address?: null | EthAddress | Array<EthAddress>;
  blockHash?: null | EthBlockHash;
  fromBlock?: null | EthBlockTag;
  toBlock?: null | EthBlockTag;
  topics?: Array<null | string | Array<null | string>> | null;
};

export type EthReceipt = {
  blockHash: string;
  blockNumber: string;
  contractAddress?: string | null;
  cumulativeGasUsed: string;
  effectiveGasPrice: string;
  from: string;
  gasUsed: string;
  logs: Array<EthLog>;
  logsBloom: string;
  status: string;
  to?: string | null;
  transactionHash: string;
  transactionIndex: string;
  type: string;
};

export type EthSubscriptionKind = string;

export type EthTransaction = {
  blockHash: string;
  blockNumber: string;
  chainId: string;
  from: string;
  gas: string;
  gasPrice: string;
  hash: string;
  input: string;
  nonce: string;
  r: string;
  s: string;
  to?: string | null;
  transactionIndex: string;
  type: string;
  v: string;
  value: string;
};

export type EthTransactionHash = string;

export type EventCursor = string;

export type EventLog = {
  _eventname: string;
  address: string;
  params: Array<ContractParam>;
};

export type EventOptions = {
  contract?: Address | null;
  cursor?: EventCursor | null;
  fromBlock?: BlockNumber | null;
  limit?: number | null;
  name?: string | null;
  order?: "newest" | "oldest";
  toBlock?: BlockNumber | null;
};

export type EventPage = {
  events: Array<EventRow>;
  next?: string | null;
};

export type EventRow = {
  block: string;
  contract: string;
  hash: string;
  index: number;
  name: string;
  params: Array<ContractParam>;
  position: number;
  timestamp: string;
};

export type Exception = {
  line: number;
  message: string;
};

export type FieldInfo = {
  depth: number;
  documentation?: string | null;
  type: string;
  vname: string;
};

export type GasEstimate = {
  gasLimit: string;
  gasUsed: string;
};

export type HeldToken = {
  balance: string;
  contract: string;
  decimals?: number | null;
  name?: string | null;
  standard: TokenStandard;
  symbol?: string | null;
};

export type HistoryOptions = {
  cursor?: PlaceCursor | null;
  limit?: number | null;
  order?: "newest" | "oldest";
};

export type Holder = {
  amount?: string | null;
  holder: string;
  tokenId?: string | null;
};

export type HolderOptions = {
  cursor?: KeyCursor | null;
  limit?: number | null;
};

export type HolderPage = {
  block: string;
  holders: Array<Holder>;
  next?: string | null;
};

export type Integral = number;

export type KeyCursor = string;

export type MatchKind = "account" | "block" | "contract" | "dsBlock" | "transaction";

export type MicroBlockInfo = {
  MicroBlockHash: string;
  MicroBlockShardId: number;
  MicroBlockTxnRootHash: string;
};

export type MinerInfo = {
  dscommittee: Array<string>;
  shards: Array<ShardMiners>;
};

export type NodeInfo = {
  NetworkInfo: string;
  PubKey: string;
};

export type NodeLimits = {
  batchCalls: number;
  batchResultBytes: number;
  codeBytes: number;
  dsGas: string;
  pendingPerSender: number;
  requestBytes: number;
  resultBytes: number;
  shardGas: string;
  unitsPerSecond?: number | null;
};

export type NodeSettings = {
  blockMode: string;
  blocksPerDsEpoch: number;
  chainId: number;
  developerMethods: boolean;
  firstBlock: string;
  generation: string;
  index: string;
  indexedBlocks: string;
  latestBlock: string;
  latestDsBlock: string;
  limits: NodeLimits;
  oldestState: string;
  paused: boolean;
  profile: string;
  scillaRules: string;
  shards: number;
  studio: boolean;
  transactionVersion: number;
  version: string;
};

export type NodeVersion = {
  Commit?: string | null;
  Version: string;
};

export type Number = string;

export type ObjectId = {
  $oid: string;
};

export type PageOrAll = TransactionsPage | TransactionsByShard;

export type PageText = string;

export type Peer = {
  IP: string;
  port: number;
};

export type PendingStatus = {
  code: number;
  confirmed: boolean;
  pending?: boolean | null;
};

export type PendingTransaction = {
  TxnHash: string;
  code: number;
};

export type PendingTransactions = {
  Txns: Array<PendingTransaction>;
};

export type PlaceCursor = string;

export type PoolOptions = {
  cursor?: ArrivalCursor | null;
  limit?: number | null;
  sender?: Address | null;
};

export type PoolPage = {
  next?: string | null;
  transactions: Array<PoolTransaction>;
};

export type PoolPlace = {
  code: number;
  pending: boolean;
  present: boolean;
};

export type PoolTransaction = {
  amount: string;
  epoch: string;
  gasLimit: string;
  gasPrice: string;
  hash: string;
  kind: TransactionKind;
  nonce: number;
  recipient: string;
  sender: string;
  status: number;
};

export type Price = string;

export type Proposal = {
  DSVotes?: Array<Vote>;
  ProposalId: number;
  ShardVotes?: Array<Vote>;
};

export type RawBlock = {
  data: string;
};

export type Receipt = {
  accepted?: boolean | null;
  cumulative_gas: string;
  epoch_num: string;
  errors?: Record<string, Array<number>> | null;
  event_logs?: Array<EventLog>;
  exceptions?: Array<Exception> | null;
  success: boolean;
  transitions?: Array<Transition>;
};

export type RecentTransactions = {
  TxnHashes: Array<string>;
  number: number;
};

export type SearchMatch = {
  id: string;
  kind: MatchKind;
  label: string;
};

export type SearchResult = {
  complete: boolean;
  matches: Array<SearchMatch>;
};

export type Severity = "error" | "warning";

export type ShardMiners = {
  nodes: Array<string>;
  size: number;
};

export type ShardingStructure = {
  NumPeers: Array<number>;
};

export type SimulatedTransaction = {
  amount?: string | null;
  code?: string | null;
  data?: string | null;
  gasLimit?: string | null;
  gasPrice?: string | null;
  priority?: boolean | null;
  senderAddr: string;
  toAddr?: string | null;
};

export type Simulation = {
  changes: Array<AccountChange>;
  contractAddress?: string | null;
  fee: string;
  gasLimit: string;
  gasUsed: string;
  info: "Non-contract txn, sent to shard" | "Contract Creation txn, sent to shard" | "Contract Txn, Shards Match of the sender and reciever" | "Contract Txn, Sent To Ds";
  receipt: Receipt;
};

export type SmartContract = {
  address: string;
};

export type SnapshotListOptions = {
  cursor?: ArrivalCursor | null;
  limit?: number | null;
};

export type SnapshotPage = {
  next?: string | null;
  snapshots: Array<SnapshotRow>;
};

export type SnapshotRow = {
  block: string;
  blockMode: string;
  id: number;
  transactions: number;
};

export type SourcePosition = {
  column: number;
  line: number;
};

export type SourceSpan = {
  end: SourcePosition;
  start: SourcePosition;
};

export type StateEntry = {
  indices: Array<string>;
  value: unknown;
  variable: string;
};

export type StatePage = {
  block: string;
  entries: Array<StateEntry>;
  next?: string | null;
};

export type StateProof = {
  accountProof?: Array<string>;
  stateProof?: Array<string>;
};

export type SummaryOptions = {
  block?: BlockNumber | null;
  cursor?: PlaceCursor | null;
  limit?: number | null;
  order?: "newest" | "oldest";
};

export type SwInfo = {
  Scilla: SwVersion;
  Zilliqa: SwVersion;
};

export type SwVersion = [number, number, number, string, number];

export type Time = string;

export type TokenDescription = {
  decimals?: number | null;
  name?: string | null;
  standard: TokenStandard;
  symbol?: string | null;
};

export type TokenOptions = {
  cursor?: AddressCursor | null;
  limit?: number | null;
};

export type TokenPage = {
  block: string;
  next?: string | null;
  tokens: Array<HeldToken>;
};

export type TokenStandard = "ZRC-1" | "ZRC-2" | "ZRC-6";

export type TraceOptions = {
  fromStep?: number | null;
  limit?: number | null;
  values?: boolean | null;
};

export type TracePage = {
  nextStep?: number | null;
  steps: number;
};

export type TracedCall = {
  amount: string;
  calls: Array<TracedCall>;
  params: unknown;
  recipient: string;
  run?: TracedRun | null;
  sender: string;
  tag: string;
};

export type TracedRun = {
  accepted: boolean;
  completed: boolean;
  gasAfter: string;
  gasBefore: string;
  steps: Array<TracedStep>;
};

export type TracedStep = {
  bound?: TracedValue | null;
  column: number;
  component: string;
  depth: number;
  failed: boolean;
  line: number;
  text: string;
  unitsAfter: number;
  unitsBefore: number;
  used: Array<TracedValue>;
};

export type TracedValue = {
  name: string;
  value?: unknown;
};

export type Transaction = {
  ID: string;
  amount: string;
  code?: string;
  data?: string;
  gasLimit: string;
  gasPrice: string;
  nonce: string;
  receipt: Receipt;
  senderPubKey: string;
  signature: string;
  toAddr: string;
  version: string;
};

export type TransactionHash = string;

export type TransactionKind = "call" | "deployment" | "payment";

export type TransactionPage = {
  next?: string | null;
  transactions: Array<TransactionSummary>;
};

export type TransactionRequest = {
  amount: string;
  code?: string;
  data?: string;
  gasLimit: string;
  gasPrice: string;
  nonce: number;
  priority?: boolean;
  pubKey: string;
  signature: string;
  toAddr: string;
  version: number;
};

export type TransactionStatus = {
  ID: string;
  _id: ObjectId;
  amount: string;
  code?: string;
  data?: string;
  epochInserted: string;
  epochUpdated: string;
  gasLimit: string;
  gasPrice: string;
  lastModified: string;
  modificationState: number;
  nonce: string;
  senderAddr: string;
  signature: string;
  status: number;
  success: boolean;
  toAddr: string;
  version: string;
};

export type TransactionSummary = {
  amount: string;
  block: string;
  contract?: string | null;
  fee: string;
  hash: string;
  kind: TransactionKind;
  position: number;
  recipient: string;
  sender: string;
  success: boolean;
  tag?: string | null;
  timestamp: string;
};

export type TransactionTrace = {
  block: string;
  call?: TracedCall | null;
  changes: Array<AccountChange>;
  hash: string;
  page?: TracePage | null;
  receipt: Receipt;
  truncated: boolean;
};

export type TransactionsByShard = Array<Array<string> | null>;

export type TransactionsPage = {
  CurrPage: number;
  NumPages: number;
  Transactions: TransactionsByShard;
};

export type TransactionsPage2 = {
  CurrPage: number;
  NumPages: number;
  Transactions: Array<Transaction>;
};

export type Transfer = {
  amount?: string | null;
  balance?: string | null;
  block: string;
  from?: string | null;
  hash?: string | null;
  kind: TransferKind;
  position?: number | null;
  timestamp: string;
  to?: string | null;
};

export type TransferCursor = string;

export type TransferKind = "call" | "deployment" | "edit" | "fee" | "fees" | "genesis" | "payment" | "reward" | "transition";

export type TransferOptions = {
  addresses?: Array<Address> | null;
  cursor?: TransferCursor | null;
  fromBlock?: BlockNumber | null;
  limit?: number | null;
  order?: "newest" | "oldest";
  toBlock?: BlockNumber | null;
};

export type TransferPage = {
  next?: string | null;
  transfers: Array<Transfer>;
};

export type Transition = {
  accepted?: boolean | null;
  addr: string;
  depth: number;
  msg: ContractMessage;
};

export type TxBlock = {
  body: TxBlockBody;
  header: TxBlockHeader;
};

export type TxBlockBody = {
  B1?: Array<boolean> | null;
  B2?: Array<boolean> | null;
  BlockHash: string;
  CS1?: string | null;
  HeaderSign: string;
  MicroBlockInfos: Array<MicroBlockInfo>;
};

export type TxBlockHeader = {
  BlockNum: string;
  CommitteeHash?: string | null;
  DSBlockNum: string;
  GasLimit: string;
  GasUsed: string;
  MbInfoHash: string;
  MinerPubKey: string;
  NumMicroBlocks: number;
  NumPages: number;
  NumTxns: number;
  PrevBlockHash: string;
  Rewards: string;
  StateDeltaHash: string;
  StateRootHash: string;
  Timestamp: string;
  TxnFees: string;
  Version: number;
};

export type TxBlockWithTransactions = {
  body: TxBlockBody;
  header: TxBlockHeader;
  transactions?: Array<Transaction> | null;
};

export type TypedName = {
  type: string;
  vname: string;
};

export type VariableChange = {
  indices: Array<string>;
  new?: unknown;
  old?: unknown;
  variable: string;
};

export type VariableHash = string;

export type Vote = {
  VoteCount: number;
  VoteValue: number;
};

/** The parameters and the result of each method. */
export interface Methods {
  CheckPause: { params: [id: string]; result: boolean };
  CreateTransaction: { params: [transaction: TransactionRequest]; result: CreateTransactionResult };
  DSBlockListing: { params: [page: Integral]; result: BlockListing };
  eth_accounts: { params: []; result: Array<unknown> };
  eth_blockNumber: { params: []; result: string };
  eth_chainId: { params: []; result: string };
  eth_gasPrice: { params: []; result: string };
  eth_getBalance: { params: [address: EthAddress, block?: EthBlockTag]; result: string };
  eth_getBlockByHash: { params: [hash: EthBlockHash, full?: boolean]; result: EthBlock | null };
  eth_getBlockByNumber: { params: [block: EthBlockTag, full?: boolean]; result: EthBlock | null };
  eth_getCode: { params: [address: EthAddress, block?: EthBlockTag]; result: string };
  eth_getFilterChanges: { params: [id: EthId]; result: Array<EthLog> | Array<string> };
  eth_getFilterLogs: { params: [id: EthId]; result: Array<EthLog> };
  eth_getLogs: { params: [filter: EthLogFilter]; result: Array<EthLog> };
  eth_getTransactionByHash: { params: [hash: EthTransactionHash]; result: EthTransaction | null };
  eth_getTransactionCount: { params: [address: EthAddress, block?: EthBlockTag]; result: string };
  eth_getTransactionReceipt: { params: [hash: EthTransactionHash]; result: EthReceipt | null };
  eth_newBlockFilter: { params: []; result: string };
  eth_newFilter: { params: [filter: EthLogFilter]; result: string };
  eth_subscribe: { params: [subscription: EthSubscriptionKind, filter?: EthLogFilter]; result: string };
  eth_syncing: { params: []; result: boolean };
  eth_uninstallFilter: { params: [id: EthId]; result: boolean };
  eth_unsubscribe: { params: [id: EthId]; result: boolean };
  GetAverageBlockTime: { params: []; result: string };
  GetBalance: { params: [address: Address]; result: Balance };
  GetBlockchainInfo: { params: []; result: BlockchainInfo };
  GetBlocknum: { params: []; result: string };
  GetContractAddressFromTransactionID: { params: [hash: DeploymentHash]; result: string };
  GetCurrentDSComm: { params: []; result: DsCommittee };
  GetCurrentDSEpoch: { params: []; result: string };
  GetCurrentMiniEpoch: { params: []; result: string };
  GetDsBlock: { params: [number: DecimalNumber]; result: DsBlock };
  GetDSBlockRate: { params: []; result: number };
  GetDsBlockVerbose: { params: [number: DecimalNumber]; result: DsBlock };
  GetDSCommittee: { params: []; result: Array<NodeInfo> };
  GetEpochFin: { params: []; result: string };
  GetLatestDsBlock: { params: []; result: DsBlock };
  GetLatestEpochStatesUpdated: { params: []; result: string };
  GetLatestTxBlock: { params: []; result: TxBlock };
  GetMinerInfo: { params: [number: DecimalNumber]; result: MinerInfo };
  GetMinimumGasPrice: { params: []; result: string };
  GetNetworkId: { params: []; result: string };
  GetNodeType: { params: []; result: string };
  GetNumDSBlocks: { params: []; result: string };
  GetNumPeers: { params: []; result: number };
  GetNumTransactions: { params: []; result: string };
  GetNumTxBlocks: { params: []; result: string };
  GetNumTxnsDSEpoch: { params: []; result: string };
  GetNumTxnsTxEpoch: { params: []; result: string };
  GetPendingTxn: { params: [hash: TransactionHash]; result: PendingStatus };
  GetPendingTxns: { params: []; result: PendingTransactions };
  GetPrevDifficulty: { params: []; result: number };
  GetPrevDSDifficulty: { params: []; result: number };
  GetRawDSBlock: { params: [number: DecimalNumber]; result: RawBlock };
  GetRawTxBlock: { params: [number: DecimalNumber]; result: RawBlock };
  GetRecentTransactions: { params: []; result: RecentTransactions };
  GetShardingStructure: { params: []; result: ShardingStructure };
  GetShardMembers: { params: [shard: Integral]; result: Array<NodeInfo> };
  GetSmartContractCode: { params: [address: Address]; result: ContractCode };
  GetSmartContractInit: { params: [address: Address]; result: Array<ContractParam> };
  GetSmartContracts: { params: [address: Address]; result: Array<SmartContract> };
  GetSmartContractState: { params: [address: Address]; result: Record<string, unknown> };
  GetSmartContractSubState: { params: [address: Address, field: string, indices: Array<unknown>]; result: Record<string, unknown> | null };
  GetSoftConfirmedTransaction: { params: [hash: BareTransactionHash]; result: Transaction };
  GetStateProof: { params: [address: Address, variable: VariableHash, block: BlockNumberOrLatest]; result: StateProof };
  GetTotalCoinSupply: { params: []; result: string };
  GetTotalCoinSupplyAsInt: { params: []; result: number };
  GetTransaction: { params: [hash: TransactionHash]; result: Transaction };
  GetTransactionRate: { params: []; result: number };
  GetTransactionsForTxBlock: { params: [number: Number]; result: TransactionsByShard };
  GetTransactionsForTxBlockEx: { params: [number: Number, page?: PageText]; result: PageOrAll };
  GetTransactionStatus: { params: [hash: TransactionHash]; result: TransactionStatus };
  GetTxBlock: { params: [number: DecimalNumber]; result: TxBlock };
  GetTxBlockRate: { params: []; result: number };
  GetTxBlockVerbose: { params: [number: DecimalNumber]; result: TxBlock };
  GetTxnBodiesForTxBlock: { params: [number: Number]; result: Array<Transaction> };
  GetTxnBodiesForTxBlockEx: { params: [number: Number, page?: PageText]; result: TransactionsPage2 };
  GetVersion: { params: []; result: NodeVersion };
  healthcheck: { params: []; result: string };
  IncreaseBlocknum: { params: [delta: Integral]; result: string };
  IsTxnInMemPool: { params: [hash: BareTransactionHash]; result: PoolPlace };
  net_listening: { params: []; result: boolean };
  net_version: { params: []; result: string };
  "rpc.discover": { params: []; result: unknown };
  SetMinimumGasPrice: { params: [price: Price]; result: string };
  silica_addBalance: { params: [address: Address, amount: Amount]; result: string };
  silica_checkContract: { params: [source: string, options?: CheckOptions | null]; result: ContractCheck };
  silica_dropAllTransactions: { params: []; result: number };
  silica_dropTransaction: { params: [hash: TransactionHash]; result: boolean };
  silica_dump: { params: [name: DumpName]; result: DumpReport };
  silica_estimateGas: { params: [transaction: SimulatedTransaction]; result: GasEstimate };
  silica_getAccountProof: { params: [address: Address, block: BlockNumberOrLatest]; result: StateProof };
  silica_getBalanceAt: { params: [address: Address, block: BlockNumber]; result: BalanceAt };
  silica_getBlockRange: { params: [options?: BlockRangeOptions | null]; result: BlockPage };
  silica_getBlocks: { params: [from: BlockNumber, to: BlockNumber, options?: BlocksOptions | null]; result: Array<TxBlockWithTransactions> };
  silica_getContractInterface: { params: [address: Address]; result: ContractInterface };
  silica_getEvents: { params: [options?: EventOptions | null]; result: EventPage };
  silica_getHolders: { params: [contract: Address, options?: HolderOptions | null]; result: HolderPage };
  silica_getPool: { params: [options?: PoolOptions | null]; result: PoolPage };
  silica_getSmartContractStatePage: { params: [address: Address, field?: string | null, cursor?: string | null, limit?: Integral, block?: BlockNumber | null]; result: StatePage };
  silica_getTokens: { params: [address: Address, options?: TokenOptions | null]; result: TokenPage };
  silica_getTransactionsForAddress: { params: [address: Address, options?: HistoryOptions | null]; result: AddressHistory };
  silica_getTransactionSummaries: { params: [options?: SummaryOptions | null]; result: TransactionPage };
  silica_getTransfers: { params: [options?: TransferOptions | null]; result: TransferPage };
  silica_increaseTime: { params: [seconds: Integral]; result: string };
  silica_listAccounts: { params: [options?: AddressListOptions | null]; result: AccountPage };
  silica_listContracts: { params: [options?: AddressListOptions | null]; result: ContractPage };
  silica_listSnapshots: { params: [options?: SnapshotListOptions | null]; result: SnapshotPage };
  silica_mine: { params: [blocks?: Integral]; result: string };
  silica_nodeInfo: { params: []; result: NodeSettings };
  silica_revert: { params: [id: Integral]; result: boolean };
  silica_search: { params: [text: string]; result: SearchResult };
  silica_sendTransaction: { params: [transaction: SimulatedTransaction]; result: CreateTransactionResult };
  silica_setBalance: { params: [address: Address, balance: Amount]; result: string };
  silica_setBlockMode: { params: [mode: BlockMode]; result: string };
  silica_setContractField: { params: [address: Address, field: string, keys: Array<string>, value: unknown]; result: string };
  silica_setNextBlockTimestamp: { params: [timestamp: Time]; result: string };
  silica_setNonce: { params: [address: Address, nonce: number]; result: string };
  silica_simulateTransaction: { params: [transaction: SimulatedTransaction]; result: Simulation };
  silica_snapshot: { params: []; result: number };
  silica_traceCall: { params: [transaction: SimulatedTransaction]; result: CallTrace };
  silica_traceTransaction: { params: [hash: TransactionHash, options?: TraceOptions | null]; result: TransactionTrace };
  TogglePause: { params: [id: string]; result: boolean };
  TxBlockListing: { params: [page: Integral]; result: BlockListing };
  web3_clientVersion: { params: []; result: string };
  web3_sha3: { params: [data: EthBytes]; result: string };
}
