import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorldKernel

/// A phone's radio, and the state that the system keeps while the app is not running.
struct BottleRadio {
  /// The IDs that the phone's radio has assigned to the bottle and to another bottle nearby.
  static let id = BottleFeature.peripheral
  static let other = PeripheralID(UUID128(high: 7, low: 8))
  static let name = "Aquavate-0707"
  /// The time after which a silent connection ends (the supervision time-out of contracts 3.1).
  static let supervision = Duration.seconds(6)
  /// The delay until the app is notified of a loss.
  static let notice = Duration.milliseconds(10)
  static let servicesChanged = LinkFailure.protocolError(detail: "the services changed")
  /// The time for which the system lets an app run in the background after a radio event (TN3115).
  static let grant = Duration.seconds(10)

  /// An app's pending connect to a peripheral.
  struct Ticket {
    var attempt: AttemptID
    var isQueued: Bool
    /// The time until which the system ignores the bottle for this ticket.
    var restsUntil = Instant.zero
    /// Whether the connect has failed and the app has not been notified yet.
    var hasFailed = false
  }

  /// An established connection.
  struct Link {
    var number: UInt64
    /// The arrival times of the last values sent in each direction. They are needed because values
    /// stay in order.
    var upFree: Instant
    var downFree: Instant
    /// The number of times that the bottle changed its services.
    var services = 0
    /// The writes whose answers the app awaits, oldest first.
    var unanswered: [WriteID] = []
    /// The attempt that has subscribed.
    var subscriber: AttemptID?
    /// The events that are delayed until the bottle is in range again.
    var stalled: [BottleFeature.ScheduledEvent] = []
    /// The number of writes of the time that were lost for this subscriber, and the time until
    /// which the bottle's clock may remain unset.
    var lostTimes = 0
    var timeBy = Instant.zero

    /// Subscribes. After a change of the services, the model reports no new connection, so the time
    /// that it takes to set the bottle's clock begins here.
    mutating func subscribe(_ attempt: AttemptID, at now: Instant) {
      let time = services > 0 ? Duration.seconds(5) : .zero
      (subscriber, lostTimes, timeBy) = (attempt, 0, now.advanced(by: time))
    }
  }

  /// Returns whether a write sets the bottle's clock.
  static func setsTime(_ attribute: BottleAttribute, _ bytes: [UInt8]) -> Bool {
    guard attribute == .command, case .setTime? = try? BottleCommand(bytes) else { return false }
    return true
  }

  /// The rate at which the phone detects an advertising bottle.
  enum Pace {
    case never
    /// The app is in the background, and the system scans occasionally.
    case background
    case foreground
    /// The app is scanning, or is connecting to a bottle that was found.
    case fast
  }

  var adapter = AdapterState.on
  /// The adapter states that have not been reported to the app.
  var unreported: [AdapterState] = []
  var isScanning = false
  var tickets: [Ticket] = []
  var link: Link?
  /// The changes of services that wait for their moment.
  var changes: [ServiceChange] = []
  /// The number of the connection that the bottle considers established.
  var bottleLink: UInt64?
  /// Whether the system keeps a connect or a scan of a process that it has ended.
  var keepsConnect = false
  var keepsScan = false
  /// Whether the system ended the process and will launch it again.
  var isEvicted = false
  /// The peripherals that the system restores in the next process.
  var restores: [RestoredPeripheral] = []
  /// Recent attempts of this process. They are used for late callbacks.
  var past: [AttemptID] = []
  var pace = Pace.never
  /// The number of the latest planned connection. Outdated plans are recognized by a lower number.
  var plan: UInt64 = 0
  var looks = false
  /// Whether an app had a pending request when the adapter was turned off.
  var hadRequest = false
  var lastLink: UInt64 = 0
  /// The time until which the system retains a lost connection before it notifies the app.
  var reportedBy = Instant.zero
  /// The IDs of the records that the bottle has sent, whether or not they arrived.
  var sent: Set<UInt32> = []

  var isOn: Bool { adapter == .on }

  /// The tickets that can still connect.
  var openTickets: [Ticket] { tickets.filter { !$0.hasFailed } }

  /// Returns the time for which the system will ignore the bottle, considering every ticket that
  /// can connect.
  func rest(at now: Instant) -> Duration {
    let until = keepsConnect ? now : openTickets.map(\.restsUntil).min() ?? now
    return now.duration(to: max(until, now))
  }

  func hasTicket(_ attempt: AttemptID) -> Bool {
    tickets.contains { $0.attempt == attempt }
  }

  /// Discards all of the app's requests.
  mutating func forget() {
    (tickets, isScanning) = ([], false)
    (keepsConnect, keepsScan) = (false, false)
  }
}
