import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastPorts

/// The health data of one run of a pull. The store is opened for the first question, because many
/// runs find no question.
actor PullStore: HealthReading {
  private let storage: StorageLocation<any HealthReading>
  private var opening: Task<Result<any HealthReading, StoreFailure>, Never>?
  private var isClosed = false

  init(_ storage: StorageLocation<any HealthReading>) { self.storage = storage }

  func samples(_ query: HealthSampleQuery) async throws(StoreFailure) -> HealthSamplePage {
    try await opened().samples(query)
  }

  func summary() async throws(StoreFailure) -> [HealthTypeSummary] {
    try await opened().summary()
  }

  func stored() async throws(StoreFailure) -> StoredHealth { try await opened().stored() }

  func check() async throws(StoreFailure) { try await opened().check() }

  /// Closes the store if it was opened for this run.
  func close() async {
    isClosed = true
    guard let opening, case .success(let store) = await opening.value else { return }
    await storage.closing(store)()
  }

  private func opened() async throws(StoreFailure) -> any HealthReading {
    guard !isClosed else { throw .closed }
    let opening = self.opening ?? Task { [storage] in await Self.open(storage) }
    self.opening = opening
    return try await opening.value.get()
  }

  private static func open(
    _ storage: StorageLocation<any HealthReading>
  ) async -> Result<any HealthReading, StoreFailure> {
    do throws(StoreFailure) {
      return .success(try await storage.open())
    } catch {
      return .failure(error)
    }
  }
}
