import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealthSamples
public import HoldfastPorts
public import HoldfastSyncData

/// A source that reads the health store of imports. Importing a newer export causes additions and
/// deletions.
///
/// A sample's UUID is its key, which is derived from its content. A sample counts as deleted when
/// the store has removed it because a newer export covers its type and time but does not contain
/// it.
public actor StoredHealthSource: HealthSource {
  private let store: any HealthStore
  private let clock: any LinkClock
  private var watching: Task<Void, Never>?

  /// The interval at which the number of the newest change is read. Each read accesses one row of
  /// the store.
  private static let pause = Duration.seconds(2)
  /// The time that a phone grants to a fired observer (an assumption about HealthKit).
  private static let budget = Duration.seconds(10)

  /// Creates a source that reads a store, even while another process writes to it.
  public init(_ store: any HealthStore, clock: any LinkClock = BootClock()) {
    (self.store, self.clock) = (store, clock)
  }

  public func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) {
    watching?.cancel()
    watching = Task { [store, clock] in
      var seen: Int64?
      while !Task.isCancelled {
        // If the store cannot be read now, the next page reports the reason.
        let newest = (try? await store.newestChange()) ?? seen ?? -1
        if newest != seen { fired(types, Wake(budget: Self.budget) { _ in }) }
        seen = newest
        guard (try? await clock.wait(until: clock.now.advanced(by: Self.pause))) != nil else {
          return
        }
      }
    }
  }

  public func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    do throws(StoreFailure) {
      // If the store has been replaced or restored to an earlier state since the anchor was
      // created, all of its samples count as new.
      var query = HealthChangeQuery(
        type: type, from: Timestamp(nanoseconds: .min), limit: limit)
      switch start {
      case .after(let anchor): query.after = anchor
      case .last(let span): query.from = try await newest().advanced(by: .zero - span)
      case .since(let time, let span):
        query.from = min(time, try await newest().advanced(by: .zero - span))
      }
      let page = try await store.changes(query)
      return SourcePage(
        added: page.added.map { SourceSample(uuid: Self.uuid($0.key), sample: $0.sample) },
        deleted: page.deleted.map(Self.uuid), anchor: page.anchor)
    } catch {
      throw HealthSourceFailure(error)
    }
  }

  /// Returns the time of the newest export, or the current time if that is earlier.
  private func newest() async throws(StoreFailure) -> Timestamp {
    let wall = clock.wall
    return min(try await store.newestExport() ?? wall, wall)
  }

  private static func uuid(_ key: HealthSampleKey) -> UUID128 {
    UUID128(high: key.high, low: key.low)
  }

  public func stop() {
    watching?.cancel()
    watching = nil
  }
}

extension HealthSourceFailure {
  init(_ failure: StoreFailure) {
    switch failure {
    case .locked(let detail): self = .locked(detail: detail)
    case .full, .corrupt, .fromTheFuture, .denied, .other:
      self = .failed(detail: failure.description)
    }
  }
}
