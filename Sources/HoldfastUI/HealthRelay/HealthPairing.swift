public import Foundation
public import Holdfast
import LinkHealth
public import Observation

/// A phone whose health data a paired assistant may ask for, for the screens of an app.
///
///     PairingCard(relay.pair)
///       .task { await relay.follow() }
///
/// All screens share one model. It is fed while it lives, so a `.task` that restarts finds it
/// whole.
@MainActor @Observable public final class HealthPairing {
  /// What the user reads to an assistant; `nil` until the server has given it.
  public private(set) var pair: RelayPair?
  /// How questions come in.
  public private(set) var connection = ConnectionState()
  /// The newest questions and how they ended, at most 100, newest first.
  public private(set) var receipts: [ReceiptRow] = []
  /// What went wrong last, and did not end anything.
  public private(set) var problem: RelayProblem?

  @ObservationIgnored private let relay: Relay
  @ObservationIgnored private let token: ResumeFile
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let holdings: Holdings
  @ObservationIgnored private let feed = Feed()
  private static let receiptLimit = 100

  init(
    _ relay: Relay, _ token: ResumeFile, _ dates: Dates, _ holdings: Holdings
  ) {
    (self.relay, self.token, self.dates, self.holdings) = (relay, token, dates, holdings)
  }

  /// Keeps the model up to date until the task is cancelled or the relay is closed.
  ///
  /// Cancelling it stops nothing: the model is fed on, and is whole when a screen follows it again.
  public func follow() async {
    await feed.follow { [weak self, relay] in
      for await update in relay { await self?.take(update) }
    }
  }

  /// Connects, with the pairing of the last run if the server still knows it.
  ///
  /// - Throws: If the token of that pairing cannot be read.
  public func start() throws(StoreFailure) {
    if let kept = try token.read() { relay.resume(kept) }
    relay.start()
  }

  /// Ends the connection and the pairing.
  ///
  /// - Throws: If the token of the pairing cannot be removed.
  public func stop() throws(StoreFailure) {
    relay.stop()
    try token.write(nil)
  }

  /// Tells whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) { relay.turn(lifecycle) }

  /// Closes the relay. The app's links make a new model then.
  public func close() async {
    await relay.close()
    await holdings.close()
  }

  private func take(_ update: RelayUpdate) async {
    switch update {
    case .status(let status): connection = ConnectionState(status, dates)
    case .pair(let latest):
      pair = latest
      let kept = await relay.resumeToken
      // Without it the next run pairs anew, which the user sees.
      if let kept { try? token.write(kept) }
    case .ended(let receipt):
      receipts.insert(ReceiptRow(receipt, at: dates.now), at: 0)
      if receipts.count > Self.receiptLimit { receipts.removeLast() }
    case .problem(let latest, withheld: _): problem = latest
    }
  }
}

/// One question of an assistant as a row of a list.
public struct ReceiptRow: Sendable, Hashable, Identifiable {
  /// The server's name of the question.
  public var id: RelayRequestID { receipt.id }
  /// What was asked, and how it ended.
  public var receipt: RelayReceipt
  /// When it ended.
  public var date: Date

  init(_ receipt: RelayReceipt, at date: Date) { (self.receipt, self.date) = (receipt, date) }
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
      phase: phase, retryAt: status.retryAt.map(dates.date), needsSignIn: status.reason == .signIn)
  }
}

extension HoldfastLinks {
  /// Returns the phone's health relay, one model for all screens until it is closed; nothing is
  /// connected before its `start()`. While the model is open, the arguments of further calls change
  /// nothing.
  ///
  /// - Parameters:
  ///   - health: Reads the person's health data; by default the store of this package's imports.
  ///   - profile: Whether questions are answered in the background too.
  ///   - zone: The time zone in which days begin.
  /// - Throws: `LinkFailure` where this platform has no network yet, or `StoreFailure`.
  public func healthRelay(
    _ health: (any HealthReading)? = nil, profile: RelayProfile = .foreground,
    zone: TimeZone = .current
  ) async throws -> HealthPairing {
    try await shared("relay") { [self] holdings in
      let folder = folder("relay")
      let network = if let own = parts.network { own } else { try Platform.ownNetwork() }
      let reading: any HealthReading =
        if let health { health } else { try await healthStore(holdings) }
      let configuration = RelayConfiguration(
        server: server.absoluteString, device: try Platform.phoneName(in: folder),
        zone: ZoneRules(zone), profile: profile)
      let relay = try await Relay(
        configuration,
        environment: RelayEnvironment(
          network: network, store: reading,
          reachability: parts.reachability ?? Platform.reachability(of: server.host ?? ""),
          lifecycle: parts.lifecycle, clock: parts.clock))
      return HealthPairing(
        relay, ResumeFile(in: folder), Dates(clock: parts.clock), holdings)
    }
  }
}
