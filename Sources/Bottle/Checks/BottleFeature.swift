package import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastCore
public import HoldfastLinkChecks

/// A bottle and its phone.
public enum BottleFeature: ObservedFeature {
  /// The model of a bottle's link on a phone.
  public typealias Model = BottleModel
  /// The checkers of the guarantees that are specific to a bottle.
  public typealias Checkers = BottleCheckers

  /// The ID that the radio of a world's phone has assigned to the bottle.
  package static let peripheral = PeripheralID(UUID128(high: 7, low: 7))

  /// A fact that is specific to this world.
  public enum Fact: Sendable, Equatable {
    /// The bottle recorded a drink.
    case recorded(UInt32)
    /// The bottle deleted or replaced a record that no phone has acknowledged.
    case removed(UInt32)
    /// The phone stored a new record.
    case stored(UInt32)
    case advertises(Bool)
    case linked(Bool)
    /// A drink was recorded during a connection. `isValid` states whether the bottle's clock was
    /// set.
    case stamped(isValid: Bool)
    /// The bottle lost its memory. Its record IDs start again.
    case erased
    /// The phone stored a record whose values differ from the bottle's record.
    case altered(UInt32)
  }

  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  public struct State: Sendable {
    // The model.
    package var isLinkWanted = false
    package var isKnown = false
    /// Whether the link has a deadline.
    package var isTimed = false
    package var holds = 0
    package var requests = 0
    // The radio and the phone's system.
    package var isOn = true
    /// Whether the system has a ticket, a connection or a scan for the app.
    package var hasPending = false
    /// The time since which the system has had nothing pending for an app that wants its bottle.
    package var idleSince: Instant?
    /// The time since which nothing has prevented a synchronization, and the first time after it at
    /// which there was no connection.
    package var clearSince: Instant?
    package var freshSince: Instant?
    /// The maximum duration of a synchronization, starting at these times.
    package var bound = Duration.seconds(120)
    // The bottle and the store.
    /// The IDs of records that must be stored.
    package var expected: Set<UInt32> = []
    package var unsynced = 0
    package var unshown = 0
    /// The IDs of all records in the store.
    package var stored: Set<UInt32> = []
    /// The number up to which the store has recorded that drinks were shown.
    package var confirmed: UInt64 = 0

    package init() {}
  }

  public static var name: String { "bottle" }
  public static var policy: LinkPolicy { .bottleLink }

  public static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<BottleFeature>
  ) {
    checkers.stepped(phone, input, isLate: isLate, effects)
  }

  public static func observe(
    _ seen: Seen, of phone: Int?, _ checkers: inout CheckerSet<BottleFeature>
  ) {
    checkers.handle(seen, of: phone)
  }

  public static func isHealed(_ phoneState: PhoneState<BottleFeature>) -> Bool {
    let own = phoneState.own
    return own.expected.isEmpty && own.unsynced == 0 && own.unshown == 0 && own.requests == 0
  }

  public static func remains(_ phoneState: PhoneState<BottleFeature>) -> String {
    let own = phoneState.own
    return ", \(own.expected.count) to store, \(own.unsynced) to mark, \(own.unshown) to show, "
      + "\(own.requests) to answer"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<BottleFeature>, _ found: (String, Int, Int) -> Void
  ) {
    if phoneState.own.requests > 32 { found("requests", phoneState.own.requests, 32) }
  }
}
