public import LinkCore
public import LinkDriver
public import LinkStorage

/// A store of a phone's bottle: its identity and its drinks, each once.
///
/// Changes are atomic and durable when `commit` returns, in the order of the calls.
public protocol DrinkStore: Store {
  /// Returns the state that a phone needs at its start.
  func open() async throws(StoreFailure) -> DrinkSnapshot
  /// Stores a change. Returns the new drinks, in the order of their records.
  func commit(_ change: DrinkChange) async throws(StoreFailure) -> [Drink]
  /// Notes that all drinks up to a number were shown.
  func confirm(_ number: UInt64) async throws(StoreFailure)
  /// Returns up to `limit` drinks before a number, or the newest ones; oldest first.
  func drinks(before number: UInt64?, limit: Int) async throws(StoreFailure) -> [Drink]
  /// Removes the bottle's identity, so that the next bottle found is used. Drinks stay.
  func forgetBottle() async throws(StoreFailure)
  /// Stores the status of a running program; `nil` when it ends.
  func note(_ status: String?) async throws(StoreFailure)
  /// Returns the stored status.
  func noted() async throws(StoreFailure) -> String?
}

/// A drink store in memory.
public typealias MemoryDrinkStore = MemoryStore<StoredDrinks>

extension MemoryStore: DrinkStore where Value == StoredDrinks {
  /// Creates an empty store.
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
