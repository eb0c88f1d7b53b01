public import LinkCore
public import LinkStorage
public import LinkWire

/// What the user sees of a bottle's link.
public struct BottleStatus: Sendable, Hashable, Codable {
  /// The step that the link has reached, from `disconnected` to `connected`.
  public var phase = Phase.disconnected
  /// What will lead to the next step; empty only while nothing is wanted or possible.
  public var outstanding: [Outstanding] = []
  /// Why it is not connected.
  public var reason: LinkStatus.Reason?
  /// What the radio can do.
  public var adapter = AdapterState.unknown
  /// When the next burst begins, if it waits for a time.
  public var retryAt: Instant?

  public init() {}

  /// Where the link stands.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    case disconnected, scanning, connecting, discovering, connected
  }

  /// Something that happens without a further step of the user.
  public enum Outstanding: String, Sendable, Hashable, Codable, CaseIterable {
    /// A burst looks for the bottle.
    case scan
    /// A burst has found the bottle and connects.
    case connect
    /// The system connects when the bottle advertises; it also works while the app is suspended.
    case queuedConnect = "queued-connect"
    /// The system looks for any bottle, since none is known yet.
    case queuedScan = "queued-scan"
    /// Services are discovered.
    case discovery
    /// The connection: its end will be reported.
    case connection
    /// A timer of the app, which does not run while the app is suspended.
    case timer
    /// The system will report when the radio can be used.
    case adapter
  }
}

/// How a refresh ended.
public enum BottleRefreshResult: Sendable, Hashable, Codable {
  /// So many drinks were new.
  case synced(Int)
  /// The bottle says that it has nothing to send.
  case alreadySynced
  /// The bottle was not found: it sleeps, or is out of range.
  case bottleAsleep
  case bluetoothOff
  /// This app may not use Bluetooth, or there is none.
  case bluetoothUnavailable
  /// The bottle was found, and no connection was made.
  case connectionFailed
  /// It was connected, and the drinks did not come.
  case syncFailed
  /// The bottle says that so many records wait, and sent none, or none that was new: they were lost
  /// on the way, or it counts records that it does not send, such as deleted ones.
  case nothingCame(UInt16)
}

/// What the phone asks of a bottle.
public enum BottleRequest: Sendable, Hashable, Codable {
  case command(BottleCommand)
  case settings(BottleSwitches)
  case configuration(BottleConfiguration)

  /// Why a bottle would refuse it, with the remedy; `nil` if it would not.
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

  /// The record that it deletes, which the bottle confirms with its state.
  var deleted: UInt32? {
    if case .command(.delete(let id)) = self { id } else { nil }
  }
}

/// How a request ended.
public enum BottleRequestResult: Sendable, Hashable, Codable {
  case done
  /// It is not valid, with the remedy; nothing was sent.
  case invalid(String)
  /// The bottle refused it.
  case refused
  /// It was not sent, for the same reasons as for a refresh.
  case notSent(BottleRefreshResult)
  /// It was sent, and the bottle did not confirm it.
  case unconfirmed
}

/// What deserves a line in a log, and changes nothing by itself.
public enum BottleNotice: Sendable, Hashable, Codable {
  case syncFailed(SyncFailure)
  /// The bottle says that it has unsynchronised records, and sends none.
  case nothingCame(said: UInt16)
  /// The system's queued connect has opened while the app was in background.
  case reconnectedInBackground
  /// A value that cannot be read was ignored.
  case malformed(detail: String)
  /// A drink came without a time, since the bottle's clock was not set.
  case unknownTime(record: UInt32)
  /// What was deleted, or which bottle it is, could not be stored.
  case notStored(detail: String)
}

/// What the app sees happen, in order.
public enum BottleUpdate: Sendable, Hashable, Codable {
  case status(BottleStatus)
  /// A drink that no run has confirmed to have shown.
  case drink(Drink)
  /// What the bottle says of itself.
  case bottle(BottleState)
  case calibration(BottleCalibration)
  case refreshed(UInt64, BottleRefreshResult)
  case performed(UInt64, BottleRequestResult)
  case notice(BottleNotice)
}

/// The numbers and rules of one bottle's link beside its policy.
public struct BottleSettings: Sendable, Hashable, Codable {
  /// When to connect: the burst is `establish.openTimeout`, its delay in the foreground
  /// `gate.foreground`, the wait after a loss `retry.reconnect`, the idle time `liveness.idle`.
  public var policy: LinkPolicy
  /// Whether drinks are fetched; a program that only sends a command leaves them to another one.
  public var syncs = true
  /// How long a refresh or a command may scan without finding the bottle; the seed's manual scan.
  public var scanTime = Duration.seconds(10)
  /// How long a refresh or a command may take in all; the seed's pull-to-refresh.
  public var requestTime = Duration.seconds(15)
  /// How long the first chunk may take; a bottle that has none to send says nothing.
  public var firstChunk = Duration.seconds(5)
  /// How long each further chunk may take; the seed's limit of a whole synchronisation.
  public var nextChunk = Duration.seconds(30)
  /// How long the state may take that follows a deletion.
  public var confirmation = Duration.seconds(5)
  /// The waits before a synchronisation that failed begins again on the same connection, and before
  /// a time that the bottle did not take is set again; then both wait for another connection, and a
  /// synchronisation for a refresh as well.
  public var syncRetries: [Duration] = [.seconds(1), .seconds(5), .seconds(15)]

  /// The usual numbers.
  public init(policy: LinkPolicy = .bottleLink) {
    self.policy = policy
  }
}
