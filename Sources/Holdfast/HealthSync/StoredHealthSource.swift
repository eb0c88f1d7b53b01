import LinkCore
import LinkHealth
public import LinkRuntime
public import LinkWire

/// The health store that imports fill, as a source: a newer export brings additions and deletions.
///
/// A sample's UUID is its key, which is made from its content. It is deleted when the store removed
/// it: an export that covers its type and its time did not hold it any more.
public actor StoredHealthSource: HealthSource {
  private let store: any HealthStore
  private let clock: any LinkClock
  private var watching: Task<Void, Never>?

  /// How often the store is asked for the number of its newest change: one read of one row.
  private static let pause = Duration.seconds(2)
  /// The time that a phone grants for what its observers fire (contract 5.7, know-how 3.14).
  private static let budget = Duration.seconds(10)

  /// Reads from a store, which another process may be writing to.
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
        // If the store cannot be read now, the page that follows reports the reason.
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
      // The store may have been replaced, or put back to an earlier state, since the anchor: then
      // all that it has counts as new.
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

  /// The time up to which the store knows: that of the newest export, if it is not in the future.
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
