public import HoldfastCore
public import HoldfastHealthRelay
public import HoldfastLinkChecks

/// HealthRelay: two phones, a backend, and three assistants that ask questions.
public enum RelayFeature: ObservedFeature {
  /// The state of the user and the app, derived from a journal.
  public typealias Record = RelayRecord
  /// The model of a relay on a phone.
  public typealias Model = RelayModel
  /// The checkers of the guarantees that are specific to the relay.
  public typealias Checkers = RelayCheckers
  /// The facts that are specific to this world.
  public typealias Fact = RelayFact
  /// The feature's part of a phone's state, which the checkers use.
  public typealias State = RelayState

  /// The numbers of phones and assistants. The last two assistants ask the same phone.
  package static let phones = 2, assistants = 3

  public static var name: String { "relay" }
  public static var policy: LinkPolicy { .healthRelayService }

  public static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<RelayFeature>
  ) {
    checkers.stepped(phone, input, isLate: isLate, effects)
  }

  public static func observe(
    _ seen: Seen, of phone: Int?, _ checkers: inout CheckerSet<RelayFeature>
  ) {
    checkers.handle(seen, of: phone)
  }

  public static func checkBounds(
    _ phoneState: PhoneState<RelayFeature>, _ found: (String, Int, Int) -> Void
  ) {
    // The effect handler reads data for one question at a time.
    if phoneState.own.held > 1 { found("answers held by the shell", phoneState.own.held, 1) }
  }

  public static func expose(_ effect: Effect, _ look: (String, String) -> Void) {
    switch effect {
    case .refuse(_, _, _, let reason), .fail(_, _, _, let reason): look(reason, "a refusal")
    case .notify(let status): if let text = status.reason?.text { look(text, "a notification") }
    case .open, .update, .close, .ping, .read, .send, .discard, .unnotify: return
    }
  }

  public static func isLogged(_ effect: Effect) -> Bool {
    switch effect {
    case .open, .update: true
    case .refuse, .fail, .notify, .close, .ping, .read, .send,
      .discard, .unnotify:
      false
    }
  }
}

/// The feature's part of a phone's state. The checkers use it in addition to the link's state.
public struct RelayState: Sendable {
  /// The index of the phone.
  public var phone = 0
  /// The lifetime of tokens, and the size of answers in bytes.
  package var tokenLife = Duration.zero
  package var answerBytes = 0
  /// The maximum time that a question takes with an idle phone.
  public var turn = Duration.zero
  /// The number of answers that were read and have not been discarded.
  public var held = 0
  /// Whether the phone shows a notification while its service is active.
  package var hasNotification = false
  /// The number of questions that have not ended.
  package var open = 0
  /// The relay's state as shown to the user.
  package var state = RelayStatus.State.idle

  public init() {}
}
