public import HoldfastBottleData
public import HoldfastCore

/// The status of a bottle's client that the user sees.
public struct BottleStatus: Sendable, Hashable, Codable {
  /// The current step, from `disconnected` to `connected`.
  public var phase = Phase.disconnected
  /// The operations and events that can lead to the next step. The list is empty only while the
  /// client is stopped or there is no next step.
  public var outstanding: [Outstanding] = []
  /// The reason why the bottle is not connected.
  public var reason: LinkStatus.Reason?
  /// The state of the Bluetooth adapter.
  public var adapter = AdapterState.unknown
  /// The instant at which the next burst begins; `nil` if none is scheduled.
  public var retryAt: Instant?

  /// Whether the client has ended with a failure, after which nothing more happens by itself.
  public var isFinal: Bool {
    // Without a failure, the client is stopped, or it waits for the adapter with another reason.
    phase == .disconnected && outstanding.allSatisfy { $0 == .adapter } && failure != nil
  }

  /// The failure behind `reason`, also while there are further attempts; `nil` if nothing failed.
  public var failure: LinkFailure? { LinkStatus(phase: .reconnecting, reason: reason).failure }

  /// Returns the time from `now` until the next burst; `nil` if none is scheduled.
  ///
  /// It is zero if the burst is due. `now` is read from the clock of the bottle's ports.
  public func retryIn(at now: Instant) -> Duration? {
    retryAt.map { max(now.duration(to: $0), .zero) }
  }

  public init() {}

  /// A step on the way to a connection.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    case disconnected, scanning, connecting, discovering, connected
  }

  /// An operation or event that happens without an action by the user.
  public enum Outstanding: String, Sendable, Hashable, Codable, CaseIterable {
    /// A burst scans for the bottle.
    case scan
    /// A burst has found the bottle and connects to it.
    case connect
    /// The system connects when the bottle advertises, even while the app is suspended.
    case queuedConnect = "queued-connect"
    /// The system scans for any bottle, since none is known yet.
    case queuedScan = "queued-scan"
    /// The services are being discovered.
    case discovery
    /// A connection is open, and the system will report its end.
    case connection
    /// A timer of the app. It does not run while the app is suspended.
    case timer
    /// The system will report when the radio becomes available.
    case adapter
  }
}

/// The result of a refresh.
public enum BottleRefreshResult: Sendable, Hashable, Codable {
  /// The synchronization added this number of drinks.
  case synced(Int)
  /// The bottle reports that it has no records to send.
  case alreadySynced
  /// The bottle was not found: it is asleep or out of range.
  case bottleAsleep
  case bluetoothOff
  /// The app has no permission for Bluetooth, or the device has no Bluetooth.
  case bluetoothUnavailable
  /// The bottle was found, but no connection was established.
  case connectionFailed
  /// The bottle was connected, but the drinks were not received.
  case syncFailed
  /// The bottle reported this number of records but sent none, or only known ones. Either the
  /// records were lost in transit, or the bottle counts records that it does not send, such as
  /// deleted ones.
  case nothingCame(UInt16)
}

/// A request of the app to a bottle.
public enum BottleRequest: Sendable, Hashable, Codable {
  case command(BottleCommand)
  case settings(BottleSwitches)
  case configuration(BottleConfiguration)

  /// The reason why a bottle would refuse the request, with a remedy; `nil` if it would accept the
  /// request.
  public var problem: String? {
    switch self {
    case .command(let command): command.problem
    case .configuration(let configuration): configuration.problem
    case .settings: nil
    }
  }

  var attribute: BottleAttribute {
    switch self {
    case .command: .command
    case .settings: .settings
    case .configuration: .configuration
    }
  }

  var bytes: [UInt8] {
    switch self {
    case .command(let command): command.bytes
    case .settings(let switches): switches.bytes
    case .configuration(let configuration): configuration.bytes
    }
  }

  /// The record that the request deletes. The bottle confirms a deletion with its state.
  var deleted: UInt32? {
    if case .command(.delete(let id)) = self { id } else { nil }
  }
}

/// The result of a request to a bottle.
public enum BottleRequestResult: Sendable, Hashable, Codable {
  case done
  /// The request is not valid and was not sent. The text contains a remedy.
  case invalid(String)
  /// The bottle refused the request.
  case refused
  /// The request was not sent, for one of the reasons for which a refresh fails.
  case notSent(BottleRefreshResult)
  /// The request was sent, but the bottle did not confirm it.
  case unconfirmed
}

/// A condition that is worth logging but has no further effect.
public enum BottleNotice: Sendable, Hashable, Codable {
  case syncFailed(SyncFailure)
  /// The bottle reports unsynchronized records, but sends none.
  case nothingCame(said: UInt16)
  /// The system's queued connect opened while the app was in the background.
  case reconnectedInBackground
  /// A value that cannot be decoded was ignored.
  case malformed(detail: String)
  /// A drink has no time because the bottle's clock was not set.
  case unknownTime(record: UInt32)
  /// A deletion, or the identity of the bottle, could not be stored.
  case notStored(detail: String)
}

/// An update that a bottle's client reports to the app. Updates are reported in order.
public enum BottleUpdate: Sendable, Hashable, Codable {
  case status(BottleStatus)
  /// A drink that no run has confirmed as shown.
  case drink(BottleDrink)
  /// The state that the bottle reported.
  case bottle(BottleState)
  case calibration(BottleCalibration)
  case refreshed(UInt64, BottleRefreshResult)
  case performed(UInt64, BottleRequestResult)
  case notice(BottleNotice)
}

/// The settings of one bottle's client, including the policy of its link.
public struct BottleSettings: Sendable, Hashable, Codable {
  /// The policy that decides when to connect. It sets the length of a burst
  /// (`establish.openTimeout`), its delay in the foreground (`gate.foreground`), the wait after a
  /// loss (`retry.reconnect`) and the idle time (`liveness.idle`).
  public var policy: LinkPolicy
  /// Whether drinks are fetched. A program that only sends commands leaves the drinks to another
  /// program.
  public var syncs = true
  /// The time after which a refresh or command stops scanning if the bottle was not found.
  public var scanTime = Duration.seconds(10)
  /// The time-out of a whole refresh or command.
  public var requestTime = Duration.seconds(15)
  /// The time-out for the first chunk. A bottle without records sends nothing.
  public var firstChunk = Duration.seconds(5)
  /// The time-out for each further chunk.
  public var nextChunk = Duration.seconds(30)
  /// The time-out for the state that follows a deletion.
  public var confirmation = Duration.seconds(5)
  /// The waits before a failed synchronization or a failed setting of the clock is retried on the
  /// same connection. After the last retry, both wait for another connection. A refresh also
  /// restarts the synchronization.
  public var syncRetries: [Duration] = [.seconds(1), .seconds(5), .seconds(15)]

  /// Creates the default settings.
  public init(policy: LinkPolicy = .bottleLink) {
    self.policy = policy
  }
}
