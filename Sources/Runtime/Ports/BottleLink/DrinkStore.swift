public import LinkCore
public import LinkDriver
public import LinkStorage

/// A store of what a phone keeps of its bottle: which one it is, and its drinks, each once.
///
/// Changes are durable, all or none, when `commit` returns, in the order of the calls.
public protocol DrinkStore: Store {
  /// Returns what a phone needs at the start.
  func open() async throws(StoreFailure) -> DrinkSnapshot
  /// Makes a change and returns the drinks that are new, in the order of the records.
  func commit(_ change: DrinkChange) async throws(StoreFailure) -> [Drink]
  /// Notes that all drinks up to this number were shown.
  func confirm(_ number: UInt64) async throws(StoreFailure)
  /// Returns up to `limit` drinks before a number, or the newest, oldest first.
  func drinks(before number: UInt64?, limit: Int) async throws(StoreFailure) -> [Drink]
  /// Forgets which bottle it is, so that the next one that is found is the bottle; drinks stay.
  func forgetBottle() async throws(StoreFailure)
  /// Keeps what a running program says about itself; `nil` when it ends.
  func note(_ status: String?) async throws(StoreFailure)
  /// Returns what was noted last.
  func noted() async throws(StoreFailure) -> String?
}

/// Drinks in memory.
public typealias MemoryDrinkStore = MemoryStore<StoredDrinks>

extension MemoryStore: DrinkStore where Value == StoredDrinks {
  /// An empty store.
  public init() { self.init(StoredDrinks()) }

  public func open() throws(StoreFailure) -> DrinkSnapshot { try use { $0.snapshot } }

  public func commit(_ change: DrinkChange) throws(StoreFailure) -> [Drink] {
    try use { $0.commit(change) }
  }

  public func confirm(_ number: UInt64) throws(StoreFailure) { try use { $0.confirm(number) } }

  public func drinks(before number: UInt64?, limit: Int) throws(StoreFailure) -> [Drink] {
    try use { $0.drinks(before: number, limit: limit) }
  }

  public func forgetBottle() throws(StoreFailure) { try use { $0.forgetBottle() } }

  public func note(_ status: String?) throws(StoreFailure) { try use { $0.status = status } }

  public func noted() throws(StoreFailure) -> String? { try use { $0.status } }
}
