import BottleLink
import LinkCore
import LinkWire

/// The radio of a phone and what its system keeps of it: an app asks, and may be gone later.
struct BottleRadio {
  /// The bottle, as this phone's radio calls it, and another one near by.
  static let id = PeripheralID(UUID128(high: 7, low: 7))
  static let other = PeripheralID(UUID128(high: 7, low: 8))
  static let name = "Aquavate-0707"
  /// How long a connection without a word of the other side lasts (contracts 3.1).
  static let supervision = Duration.seconds(6)
  /// How soon the app is told of a loss.
  static let notice = Duration.milliseconds(10)
  /// How long the system lets an app run in background for an event of the radio (TN3115).
  static let grant = Duration.seconds(10)

  /// What an app holds on a peripheral.
  struct Ticket {
    var attempt: AttemptID
    var isQueued: Bool
    /// Until when the system leaves the bottle alone for it.
    var restsUntil = Instant.zero
    /// The app will be told that it failed.
    var hasFailed = false
  }

  /// A connection that stands.
  struct Link {
    var number: UInt64
    /// When the last of what was sent each way arrives: values keep their order.
    var upFree: Instant
    var downFree: Instant
    /// The attempt that has subscribed.
    var subscriber: AttemptID?
    /// What waits for the bottle to be in range again.
    var stalled: [BottleFeature.Cue] = []
    /// How many writes of the time were lost for this subscriber, and until when the bottle may not
    /// know the time.
    var lostTimes = 0
    var timeBy = Instant.zero

    mutating func subscribe(_ attempt: AttemptID, at now: Instant) {
      (subscriber, lostTimes, timeBy) = (attempt, 0, now)
    }
  }

  /// Whether a write sets the bottle's clock.
  static func setsTime(_ attribute: BottleAttribute, _ bytes: [UInt8]) -> Bool {
    guard attribute == .command, case .setTime? = try? BottleCommand(bytes) else { return false }
    return true
  }

  /// How soon the phone notices a bottle that advertises.
  enum Pace {
    case never
    /// The app is in background: the system looks now and then.
    case background
    case foreground
    /// It scans, or connects to what was found.
    case fast
  }

  var adapter = AdapterState.on
  /// States of the adapter that the app was not told.
  var untold: [AdapterState] = []
  var isScanning = false
  var tickets: [Ticket] = []
  var link: Link?
  /// The number of the connection that the bottle believes in.
  var bottleLink: UInt64?
  /// The system keeps a connect, or a scan, of a process that it has ended.
  var keepsConnect = false
  var keepsScan = false
  /// The process was ended by the system, which launches it again.
  var isEvicted = false
  /// What the next process is told to be restored.
  var restores: [RestoredPeripheral] = []
  /// Attempts of this process, for callbacks that come late.
  var past: [AttemptID] = []
  var pace = Pace.never
  /// Numbers the plans to meet, so that one that is void is told from the present one.
  var plan: UInt64 = 0
  var looks = false
  /// Whether an app had asked something when the adapter went.
  var wished = false
  var lastLink: UInt64 = 0
  /// When the app is told that its connection is lost; until then the system holds that for it.
  var toldBy = Instant.zero
  /// The records that the bottle has sent, whether or not they arrived.
  var sent: Set<UInt32> = []

  var isOn: Bool { adapter == .on }

  /// Those that can still open.
  var openTickets: [Ticket] { tickets.filter { !$0.hasFailed } }

  /// How long the system leaves the bottle alone for all that can open.
  func rest(at now: Instant) -> Duration {
    let until = keepsConnect ? now : openTickets.map(\.restsUntil).min() ?? now
    return now.duration(to: max(until, now))
  }

  func hasTicket(_ attempt: AttemptID) -> Bool {
    tickets.contains { $0.attempt == attempt }
  }

  /// Everything that an app asked for is gone.
  mutating func forget() {
    (tickets, isScanning) = ([], false)
    (keepsConnect, keepsScan) = (false, false)
  }
}
