public import Foundation
public import Holdfast
import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealth
public import HoldfastHealthRelay
public import HoldfastRelayData
public import HoldfastSyncData
public import Observation

/// The relay of a phone, from which paired assistants may request health data, for the screens of
/// an app.
///
///     PairingCard(links.healthRelay())
///
/// The card follows the model. A view of the app's own calls `follow()` in a `.task`.
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
@MainActor @Observable public final class HealthPairing: SharedModel {
  /// The pairing code that the user gives to an assistant, or `nil` until the server has sent it.
  public internal(set) var pair: RelayPair?
  /// The state of the connection for questions.
  public internal(set) var connection = ConnectionState()
  /// The most recent questions and their results, newest first. There are at most 100.
  public internal(set) var receipts: [ReceiptRow] = []
  /// The most recent problem that did not end the connection.
  public internal(set) var problem: RelayProblem?

  /// The assistants that are signed in, and what they may read while this phone is away.
  public let access: AssistantAccess
  /// A Boolean value that indicates whether `ask()` can show the system's question.
  public let canAsk: Bool

  /// Whether the relay is open.
  public var phase: OpeningPhase { opening.phase }

  let opening: Opening<Relay>
  /// The store of the token; `nil` in a preview.
  @ObservationIgnored private let token: PairingStore?
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let source: Source?
  @ObservationIgnored private let events: Events
  private static let receiptLimit = 100

  /// A source that asks the user for access, and its types.
  typealias Source = (samples: any HealthSource, types: [String])

  /// Closures that are called when something has happened.
  struct Events {
    /// The token of a pairing has been stored.
    var paired: @MainActor () -> Void = {}
    /// An assistant has signed in.
    var signedIn: @MainActor (AssistantRow) -> Void = { _ in }
  }

  /// - Parameter source: The source that asks the user; `nil` if there is nothing to ask.
  init(
    _ opening: Opening<Relay>, _ token: PairingStore?, _ dates: Dates,
    access: AssistantAccess = AssistantAccess(), source: Source? = nil, events: Events = Events()
  ) {
    (self.opening, self.token, self.dates) = (opening, token, dates)
    (self.access, self.source, self.events) = (access, source, events)
    canAsk = source != nil
    opening.resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
  }

  /// Starts updating the model. Returns when the task is cancelled or the relay is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    guard let relay = await opening.lasting() else { return }
    access.refresh()
    await feed.follow { [weak self] in
      for await update in relay.lastingUpdates { await self?.take(update, relay) }
    }
  }

  /// Opens the relay again after it could not be opened.
  public func retry() { opening.retry() }

  /// Connects, and resumes the pairing of the last run if the server still has that pairing.
  ///
  /// - Throws: A store failure if the token of that pairing cannot be read.
  public func start() throws(StoreFailure) {
    _ = try token?.read()
    opening.whenOpen { [weak self] relay in self?.start(relay) }
  }

  /// Connects with the pairing that is stored now. A sign-out may have removed the one that was
  /// stored when the relay was asked to start.
  private func start(_ relay: Relay) {
    do throws(StoreFailure) {
      if let stored = try token?.read() { relay.resume(stored) }
      relay.start()
    } catch {
      connection = ConnectionState(failure: .local(detail: error.description))
    }
  }

  /// Connects again after a failure, with the pairing that the relay has.
  public func reconnect() { opening.whenOpen { $0.start() } }

  /// Ends the connection and the pairing.
  ///
  /// - Throws: A store failure if the token of the pairing cannot be removed.
  public func stop() throws(StoreFailure) {
    opening.whenOpen { $0.stop() }
    access.clear()
    try token?.write(nil)
  }

  /// Asks the user for access to the types in `questionTypes` of the links' parts.
  ///
  /// The system shows its question at most once for each type, and never reports what the user has
  /// allowed. Without a source that asks, the method has no effect.
  ///
  /// - Throws: `.locked` while the device is locked; `.failed` if the question could not be shown.
  public func ask() async throws(HealthSourceFailure) {
    if let source { try await source.samples.ask(for: source.types) }
  }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// In the foreground, a relay that gave up after its last attempt connects again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    opening.whenOpen { $0.setLifecycle(lifecycle) }
    if lifecycle == .foreground { reconnectIfExhausted() }
  }

  private func reconnectIfExhausted() { if connection.isExhausted { reconnect() } }

  /// Closes the relay. On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await opening.close { await $0.close() }
    await feed.finish()
  }

  func clear() {
    (pair, receipts, problem) = (nil, [], nil)
    access.clear()
  }

  private func take(_ update: RelayUpdate, _ relay: Relay) async {
    switch update {
    case .status(let status): connection = ConnectionState(status, dates)
    case .pair(let latest):
      pair = latest
      let stored = await relay.resumeToken
      // Without a stored token, the phone must be paired again in the next run, which the user
      // notices.
      guard let stored, opening.feature != nil else { return }
      guard (try? token?.write(stored)) != nil else { return }
      events.paired()
      access.paired(stored)
    case .ended(let receipt):
      receipts.insert(ReceiptRow(receipt, at: dates.now), at: 0)
      if receipts.count > Self.receiptLimit { receipts.removeLast() }
    case .problem(let latest, withheld: _): problem = latest
    case .assistant(let assistant): events.signedIn(AssistantRow(assistant))
    }
  }
}

/// A question from an assistant, as a row of a list.
public struct ReceiptRow: Sendable, Hashable, Identifiable {
  /// The id that the server assigned to the question.
  public var id: RelayRequestID { receipt.id }
  /// The question and its result.
  public var receipt: RelayReceipt
  /// The time at which the question ended.
  public var date: Date

  /// Creates the row of a question that has ended.
  public init(_ receipt: RelayReceipt, at date: Date) {
    (self.receipt, self.date) = (receipt, date)
  }
}

extension ConnectionState {
  init(_ status: RelayStatus, _ dates: Dates) {
    let phase: Phase =
      switch status.state {
      case .idle, .error, .stopping: .off
      case .starting: .connecting
      case .running: .live
      case .reconnecting: .reconnecting
      }
    self.init(
      phase, retryAt: status.retryAt.map(dates.date), status.reason, attempt: status.attempt,
      status.failure,
      text: status.description, isFinal: status.isFinal)
  }
}

extension HoldfastLinks {
  /// Returns the model of the phone's health relay. All screens share the model until it is closed.
  ///
  /// The relay connects when its `start()` is called. While the model is open, the arguments of
  /// further calls have no effect. A call that creates the model also sets `parts.health` and
  /// `parts.zone`, from which questions are answered after a push. The next launch knows only what it
  /// sets in `parts`.
  ///
  /// - Parameters:
  ///   - health: The source of the person's health data. The default is that of `parts`, or else the
  ///     store of this package's imports.
  ///   - profile: The profile. It determines whether questions are also answered in the background.
  ///   - zone: The time zone in which days begin. The default is that of `parts`, or else the present
  ///     one of the device.
  public func healthRelay(
    _ health: (any HealthReading)? = nil, profile: RelayProfile = .foreground,
    zone: TimeZone? = nil
  ) -> HealthPairing {
    shared("relay") { resources in
      (parts.health, parts.zone) = (health ?? parts.health, zone ?? parts.zone)
      let opening = opening(resources) { (links, resources) in
        let reading: any HealthReading =
          if let own = health ?? links.parts.health { own } else {
            try await links.healthStore(resources)
          }
        return try await Relay(
          links.relayConfiguration(.store(reading), profile: profile))
      }
      let events = HealthPairing.Events(
        paired: { [weak self] in
          self?.registerPush()
          self?.scheduleFirstWake()
        }, signedIn: { [weak self] in self?.announce($0) })
      let types = parts.questionTypes
      return HealthPairing(
        opening, pairing, Dates(clock: ports.clock), access: assistantAccess(),
        source: types.isEmpty ? nil : parts.samples.map { (samples: $0, types: types) },
        events: events)
    }
  }

  /// The store of the relay's pairing.
  var pairing: PairingStore { PairingStore(in: folder(.relay), ports: ports) }

  /// Returns the configuration of the relay, or of a pull.
  func relayConfiguration(
    _ storage: StorageLocation<any HealthReading>, profile: RelayProfile = .foreground
  ) throws -> RelayConfiguration {
    var configuration = RelayConfiguration(
      server: server.absoluteString, phone: try HoldfastPlatform.phoneName(in: folder(.relay)),
      zone: ZoneRules(parts.zone ?? .current), profile: profile, storage: storage)
    configuration.ports = ports
    return configuration
  }
}
