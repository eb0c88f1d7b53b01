/// The faults in effect on one host, derived from the planned events in progress.
public struct Conditions: Equatable {
  // The network.
  /// Whether packets vanish without a report.
  public var isHole = false
  /// Whether the device reports that it has no network.
  public var isUnreachable = false
  /// Whether each connection is reset some seconds after it opens.
  var isFlapping = false
  /// Whether each connection opens slowly and is reset before it is considered stable.
  var isWavering = false
  /// The login page that responds in place of the server; `nil` if there is none.
  public var portal: Portal?
  /// The reason why dialing fails.
  var blockedReason: DialObstacle?
  var bandwidth: Int64
  // A server.
  var restStatus: Int?
  var upgradeStatus: Int?
  /// The `Retry-After` value that the server sends when it refuses an upgrade.
  var retryAfter: Duration?
  /// The time that the store of a server takes for a change.
  public var storeDelay = Duration.zero
  // A phone.
  /// Whether the app is in the background.
  public var isInBackground = false
  /// Whether the app stays killed.
  public var isKilled = false
  /// The state of the disk.
  public var disk = Disk.works

  /// A login page that responds in place of the server, and whether the device detects it.
  public enum Portal {
    case known, unknown
  }

  /// The ways in which a disk responds: at once, with the error of a full or of a locked disk, or late.
  public enum Disk {
    case works, full, locked, slow
  }

  init(_ networkConditions: NetworkConditions) {
    bandwidth = networkConditions.bandwidth
  }

  /// Applies the fault of a planned event that is in progress.
  public mutating func add<Own>(_ eventKind: CommonEventKind, of event: PlannedEvent<Own>) {
    switch eventKind {
    case .background, .suspend: isInBackground = true
    case .kill: isKilled = true
    case .blackHole: isHole = true
    case .unreachable, .handover: isUnreachable = true
    case .flap: isFlapping = true
    case .waver: isWavering = true
    case .captivePortal: portal = event.choice == "known" ? .known : portal ?? .unknown
    case .dialsFail: blockedReason = DialObstacle(rawValue: event.choice) ?? .dns
    case .narrow:
      let bytes = Int64(event.number)
      bandwidth = bandwidth == 0 ? bytes : min(bandwidth, bytes)
    case .restStatus: restStatus = event.number
    case .upgradeStatus: upgradeStatus = event.number
    case .busy: retryAfter = event.time
    case .slowStore: storeDelay = max(storeDelay, event.time)
    case .storeFull: disk = .full
    case .storeLocked: disk = .locked
    case .storeSlow: disk = disk == .works ? .slow : disk
    // Sleep alone changes nothing, because the device may fall asleep before it can report it.
    case .sleep: return
    case .reset, .halfOpen, .mappingExpired, .crash, .deploy, .close, .serverClock, .wallClock:
      return
    }
  }
}
