import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastRelayData
import HoldfastTestKit
import Synchronization

/// A relay that uses real sockets, with its ports and its updates.
struct RelayRig {
  let relay: Relay
  let store: MemoryHealthStore
  let notifier = RecordedNotifier()
  let lifecycle = FakeLifecycle()
  let reachability = FakeReachability()
  /// The relay's updates, in order.
  let updates = Mailbox<RelayUpdate>()
  /// The answers that the relay passed to the `watch` function.
  let watched = Mailbox<HealthObject>()

  /// The shortest delays that the policy allows, so that a test takes less than a minute.
  static let quick = [
    ("retry.first", "100ms,100ms"), ("retry.reconnect", "100ms,100ms"),
    ("retry.serverJitter", "1ms"),
  ]

  init(
    _ server: String, profile: RelayProfile = .service, journal: String? = nil,
    store: MemoryHealthStore = MemoryHealthStore(), _ changes: [(String, String)] = []
  ) async throws {
    self.store = store
    var configuration = RelayConfiguration(
      server: server, phone: UUID128(high: 1, low: 2), zone: .utc, profile: profile,
      storage: .store(store))
    configuration.journal = journal
    configuration.settings.policy = try configuration.settings.policy.setting(
      (Self.quick + changes).map { (key: $0.0, value: $0.1) })
    configuration.watch = { [watched] in watched.put($1) }
    configuration.notifier = notifier
    configuration.ports = DevicePorts(reachability: reachability, lifecycle: lifecycle)
    relay = try await Relay(configuration)
    Task { [relay, updates] in
      for await update in relay.lastingUpdates { updates.put(update) }
      updates.close()
    }
  }

  /// Waits for a state. All other updates are skipped.
  @discardableResult
  func state(_ state: RelayStatus.State) async throws -> RelayStatus {
    try await next {
      if case .status(let status) = $0, status.state == state { status } else { nil }
    }
  }

  /// Waits for the end of a question and returns its receipt.
  func receipt() async throws -> RelayReceipt {
    try await next { if case .ended(let receipt) = $0 { receipt } else { nil } }
  }

  func next<Found: Sendable>(_ pick: (RelayUpdate) -> Found?) async throws -> Found {
    while let update = await updates.next() {
      if let found = pick(update) { return found }
    }
    throw CancellationError()
  }

  /// Adds a number of samples of 10 steps each, all on one day.
  func addSteps(_ count: Int) async throws {
    guard case .instant(let day, _)? = HealthTime("2020-05-04T00:00:00Z") else { return }
    let samples = (0..<count).map { number in
      let start = day.advanced(by: .seconds(Int64(number)))
      return HealthSample(
        type: "HKQuantityTypeIdentifierStepCount", value: .quantity(10), unit: "count",
        start: start, end: start.advanced(by: .seconds(1)), source: "phone")
    }
    try await store.add(samples)
  }
}

/// A notifier that records every notification it receives.
final class RecordedNotifier: Notifier {
  let shown = Mailbox<HostNotification?>()

  func show(_ notification: HostNotification) async -> Bool { shown.put(notification) }
  func remove() async { shown.put(nil) }
}

extension PairedAssistants.Assistant {
  static let pad = Self(
    id: "3f9a0c41d2e7", name: AssistantName("Pad", version: "1.2"), since: nil, lastQuestion: nil,
    expiresAt: Timestamp(nanoseconds: 0))
}

extension BackendMessage {
  static func code(
    _ word: String = "harbour", resume: String? = "token-of-resumption", resumed: Bool = false,
    newAssistants: [PairedAssistants.Assistant] = []
  ) -> BackendMessage {
    .connectionCode(
      ConnectionCode(
        code: "123456", word: word, message: "Say \(word) and 123456.", expiresIn: .seconds(600),
        resumeToken: resume,
        resumed: resumed, acceptsParts: true, newAssistants: newAssistants))
  }

  static func steps(
    _ id: String, groupBy: HealthGrouping? = nil, maxBytes: Int? = nil
  ) -> BackendMessage {
    guard let id = RelayRequestID(id), let start = HealthTime("2020-05-04T00:00:00Z"),
      let end = HealthTime("2020-05-05T00:00:00Z")
    else { preconditionFailure("both are times") }
    return .question(
      id,
      .healthData(
        HealthDataQuery(
          valueType: .steps, start: start, end: end, groupBy: groupBy,
          statistic: groupBy.map { _ in .sum }, maxBytes: maxBytes)))
  }
}
