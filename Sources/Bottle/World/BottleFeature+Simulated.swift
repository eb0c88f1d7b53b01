public import HoldfastBottleChecks
public import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastCore
public import HoldfastFirmware
public import HoldfastLinkChecks
public import HoldfastWorldKernel

// The world of a bottle and its phone.
//
// The phone's system behaves like iOS. It suspends the app in the background, so that none of the
// app's timers run. The system's own queued connect wakes the app or launches it again. The bottle
// runs the actual firmware, which sleeps most of the time.
extension BottleFeature: SimulatedFeature {
  /// The checkers of what only the world knows.
  public typealias WorldCheckers = BottleWorldCheckers
  /// The type of packets. It is unused, because the radio belongs to the world and no packet passes
  /// over a line.
  public typealias Packet = Nothing

  /// A scheduled event of the world.
  public enum ScheduledEvent: Sendable {
    // The app.
    case input(BottleModel.Input)
    /// The radio reports an event to the app. The event wakes the app.
    case delivers(BottleModel.Input)
    case notifies(AttemptID, BottleAttribute, [UInt8])
    case commits(UInt64, DrinkChange)
    case confirms(UInt64)
    // The radio.
    case meets(plan: UInt64)
    case sees
    case writes(RadioWrite)
    case discovers(AttemptID, link: UInt64, services: Int, run: Int)
    /// A connection ends because the bottle has been out of range for too long.
    case silences(link: UInt64)
    /// The bottle detects that the phone has disconnected.
    case leaves(link: UInt64)
    // The bottle.
    /// The bottle changes its services during a connection.
    case changes(link: UInt64)
    case handles(BottleInput)
    case carries(event: Int)
    case calms
  }

  /// A write in transit to the bottle.
  public struct RadioWrite: Sendable {
    var link: UInt64
    /// The number of changes of the services before the write.
    var services: Int
    var run: Int
    var id: WriteID
    var attribute: BottleAttribute
    var bytes: [UInt8]
  }

  /// The counters of this world. Times are in whole seconds per run, excluding the calm phase.
  public enum Counter: String, RunCounter {
    case drinks, stored, shown, links, awake, advertising, connected, scanning

    public var label: String {
      switch self {
      case .drinks, .stored, .shown, .links: rawValue
      case .awake, .advertising, .connected: "seconds \(rawValue)"
      case .scanning: "seconds of scans"
      }
    }
  }

  /// The numbers that a plan fixes for a run, in addition to the network conditions.
  public struct Numbers: PlanNumbers {
    /// The number of the plan that defines the bottle's timers.
    public var profile = 35
    /// The maximum time that the system takes to notice an advertisement in the background.
    public var passive = Duration.seconds(30)
    /// The maximum length of a notification's value, in bytes.
    public var longest = 182
    /// The number of records that the bottle keeps.
    public var capacity = 600
    /// Whether the bottle counts deleted records as unsynchronized: 1 if it does, otherwise 0.
    public var lies = 0
    /// Whether notifications overtake the response to the write that caused them: 1 if they do,
    /// otherwise 0.
    public var overtakes = 0

    public init() {}

    public static var fields: [PlanField<Numbers>] {
      [
        .number("profile", \.profile, 28...35), .span("passive", \.passive),
        .number("longest", \.longest, 20...512), .number("capacity", \.capacity, 10...600),
        .number("lies", \.lies, 0...1), .number("overtakes", \.overtakes, 0...1),
      ]
    }

    /// The timers of the bottle. If no plan has the number, they are those of the newest plan.
    var timers: TimerProfile {
      switch profile {
      case 28: .plan028
      case 34: .plan034
      case _: .plan035
      }
    }
  }

  public static var summary: String { "play a phone and a bottle that sleeps most of the time" }
  public static var details: [String] {
    [
      """
      A phone with the real model and the real firmware of a bottle meet over a radio with loss, \
      range and sleep, while the system suspends and ends the app. Checkers watch that each drink \
      is stored once before it is acknowledged, that the system always has something to wake the \
      app with, and that scans stay within their bounds. simulate bottle-cost prints what the \
      timers of a bottle cost.
      """
    ]
  }
  public static var kinds: [Finding.Kind] {
    [.lost, .duplicated, .reordered, .unstored, .unsynced, .untimed, .untrue]
      + Finding.Kind.ofLinks
  }
  public static var presets: [DayPreset] { [.lift, .train, .cafe, .aeroplane, .swarm] }
  public static func hosts(_ numbers: Numbers) -> [HostKind] { [.phone, .peripheral] }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<BottleFeature>, watch: RunWatch<BottleFeature>?
  ) -> Outcome {
    var world = BottleWorld(plan, setup, watch: watch)
    return world.play()
  }

}

extension Finding.Kind {
  /// A drink was not stored in time although the phone and the bottle could connect.
  public static let unsynced = Finding.Kind(rawValue: "unsynced")
  /// A drink has no time although a phone was connected.
  public static let untimed = Finding.Kind(rawValue: "untimed")
}

// Contributions of a bottle's steps to a run's digest, in addition to their roles.
extension BottleFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .recorded(let id): digest.mix(1, UInt64(id))
    case .removed(let id): digest.mix(2, UInt64(id))
    case .stored(let id): digest.mix(3, UInt64(id))
    case .advertises(let isOn): digest.mix(4, isOn ? 1 : 2)
    case .linked(let isOn): digest.mix(5, isOn ? 1 : 2)
    case .stamped(let isValid): digest.mix(6, isValid ? 1 : 2)
    case .altered(let id): digest.mix(7, UInt64(id))
    case .erased: digest.mix(8)
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .start, .stop, .link: digest.mix(1)
    case .refresh(let id), .perform(let id, _): digest.mix(2, id)
    case .hold(let isHeld): digest.mix(3, isHeld ? 1 : 2)
    case .choose: digest.mix(4)
    case .shown(let number): digest.mix(5, number)
    case .central(let event): mix(event, into: &digest)
    case .discovered(_, let longest, let state, let time):
      digest.mix(6, UInt64(longest), UInt64(state.unsynced))
      digest.mix(time)
    case .undiscovered: digest.mix(7)
    case .heard(_, let news, let time):
      mix(news, into: &digest)
      digest.mix(time)
    case .written(let id): digest.mix(8, id.number)
    case .unwritten(let id, _): digest.mix(9, id.number)
    case .restored(let snapshot): digest.mix(10, UInt64(snapshot.unshown.count))
    case .committed(let id, let drinks): digest.mix(11, id, UInt64(drinks.count))
    case .uncommitted(let id, _): digest.mix(12, id)
    }
  }

  private static func mix(_ event: CentralEvent, into digest: inout Digest) {
    switch event {
    case .adapter(let state): digest.mix(state.rawValue)
    case .restored(let all): digest.mix(20, UInt64(all.count))
    case .found(let id, _): digest.mix(id.id)
    case .connected, .failed, .disconnected, .changed, .value: digest.mix(21)
    }
  }

  private static func mix(_ news: BottleModel.News, into digest: inout Digest) {
    switch news {
    case .state(let state):
      digest.mix(30, UInt64(state.unsynced), UInt64(state.level))
      digest.mix(UInt64(state.time))
    case .chunk(let chunk):
      digest.mix(31, UInt64(chunk.index), UInt64(chunk.total))
      for record in chunk.records { digest.mix(UInt64(record.id), UInt64(record.time)) }
    case .calibration: digest.mix(32)
    case .battery(let percent): digest.mix(33, UInt64(percent))
    case .brokenChunk: digest.mix(34)
    case .malformed: digest.mix(35)
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .scan: digest.mix(1)
    case .stopScan: digest.mix(2)
    case .connect(let attempt, _, let isQueued, let rest):
      digest.mix(3, attempt.number, isQueued ? 1 : 2)
      digest.mix(UInt64(rest.nanoseconds))
    case .cancel(let attempt, _): digest.mix(4, attempt.number)
    case .discover(let attempt): digest.mix(5, attempt.number)
    case .write(_, let id, let attribute, let bytes):
      digest.mix(6, id.number, UInt64(attribute.rawValue))
      for byte in bytes { digest.mix(UInt64(byte)) }
    case .commit(let id, let change): digest.mix(7, id, UInt64(change.records.count))
    case .confirm(let number): digest.mix(8, number)
    case .update(let update): mix(update, into: &digest)
    }
  }

  private static func mix(_ update: BottleUpdate, into digest: inout Digest) {
    switch update {
    case .status(let status):
      digest.mix(status.phase.rawValue)
      for part in status.outstanding { digest.mix(part.rawValue) }
    case .drink(let drink): digest.mix(40, drink.number)
    case .bottle(let state): digest.mix(41, UInt64(state.unsynced))
    case .calibration: digest.mix(42)
    case .refreshed(let id, let result):
      digest.mix(43, id)
      if case .synced(let count) = result { digest.mix(UInt64(count)) }
    case .performed(let id, _): digest.mix(44, id)
    case .notice: digest.mix(45)
    }
  }
}
