public import HoldfastBottleLink
import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastSocket

/// The configuration of a bottle, with the parts of the device that it uses.
public struct BottleLinkConfiguration: Sendable {
  /// The radio that finds the bottle and connects to it. No other bottle may use it.
  public var radio: any Central
  /// The location of the drinks. Only one bottle may use it at a time.
  public var storage: StorageLocation<any DrinkStore>
  /// The policy of the link, and the numbers of the feature.
  public var settings = BottleSettings()
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  public var journal: String?
  /// The parts of the device. A bottle uses only the lifecycle and the clock.
  public var ports = DevicePorts()

  /// Creates a configuration with the default settings.
  public init(radio: any Central, storage: StorageLocation<any DrinkStore>) {
    (self.radio, self.storage) = (radio, storage)
  }
}

extension StorageLocation<any DrinkStore> {
  /// Returns the store, which is opened unless the app supplies it.
  func open() async throws(StoreFailure) -> any DrinkStore {
    switch self {
    case .directory(let path): return try await HoldfastPlatform.drinkStore(in: path)
    case .memory: return MemoryDrinkStore()
    case .store(let own): return own
    }
  }
}
