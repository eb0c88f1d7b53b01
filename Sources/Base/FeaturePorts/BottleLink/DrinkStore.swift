public import HoldfastBottleData
public import HoldfastCore
public import HoldfastPorts

/// A store of the identity and the drinks of a phone's bottle. Each drink is stored once.
///
/// Changes are applied in the order of the calls. They are atomic, and durable when `commit`
/// returns.
public protocol DrinkStore: SuspendableStore {
  /// Returns the state that a phone needs when it starts.
  func open() async throws(StoreFailure) -> DrinkSnapshot
  /// Stores a change. Returns the new drinks, in the order of their records.
  func commit(_ change: DrinkChange) async throws(StoreFailure) -> [BottleDrink]
  /// Records that all drinks up to a number have been shown.
  func confirm(_ number: UInt64) async throws(StoreFailure)
  /// Returns up to `limit` drinks before a number, or the newest if it is `nil`; oldest first.
  func drinks(before number: UInt64?, limit: Int) async throws(StoreFailure) -> [BottleDrink]
  /// Removes the bottle's identity, so that the next bottle found is used. The drinks stay stored.
  func forgetBottle() async throws(StoreFailure)
  /// Stores the status of a running program. A program passes `nil` when it ends.
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

  public func commit(_ change: DrinkChange) throws(StoreFailure) -> [BottleDrink] {
    try use { $0.commit(change) }
  }

  public func confirm(_ number: UInt64) throws(StoreFailure) { try use { $0.confirm(number) } }

  public func drinks(before number: UInt64?, limit: Int) throws(StoreFailure) -> [BottleDrink] {
    try use { $0.drinks(before: number, limit: limit) }
  }

  public func forgetBottle() throws(StoreFailure) { try use { $0.forgetBottle() } }

  public func note(_ status: String?) throws(StoreFailure) { try use { $0.status = status } }

  public func noted() throws(StoreFailure) -> String? { try use { $0.status } }
}
