public import HoldfastHealthRelay
public import HoldfastCore
public import HoldfastServerCore
public import HoldfastStorage
public import HoldfastWire

/// The world of HealthRelay: two phones, a backend, and three assistants that ask questions.
public enum RelayFeature: SimulatedFeature {
  /// The state of the user and the app, derived from a journal.
  public typealias Record = RelayRecord
  /// The model of a relay on a phone.
  public typealias Model = RelayModel
  /// The kinds of planned events, in addition to those of the kernel.
  public typealias EventKind = RelayEventKind
  /// The numbers that a plan fixes for a run, in addition to the network conditions.
  public typealias Numbers = RelayNumbers
  /// The servers of this world. There is only one.
  public typealias Server = OneServer
  /// The deliberate defects of this world.
  public typealias Defect = RelayDefect
  /// The checkers of the guarantees that are specific to the relay.
  public typealias Checkers = RelayCheckers
  /// The counters of this world.
  public typealias Counter = RelayCounter
  /// The facts that are specific to this world.
  public typealias Fact = RelayFact
  /// The feature's part of a phone's state, which the checkers use.
  public typealias State = RelayState

  /// The numbers of phones and assistants. The last two assistants ask the same phone.
  static let phones = 2, assistants = 3

  public static var name: String { "relay" }
  public static var summary: String { "play phones, a backend and the assistants that ask them" }
  public static var details: [String] {
    [
      """
      Each seed draws at least an hour of trouble for two phones, a backend with its store, and \
      three assistants. Every question must have one answer of the right phone, or one honest \
      error, in its time; no phone may seem connected that is not. Then calm begins, and every \
      assistant must get data.
      """
    ]
  }
  public static var policy: LinkPolicy { .healthRelayService }
  public static func hosts(_ numbers: RelayNumbers) -> [HostKind] {
    Array(repeating: .phone, count: phones) + [.backend]
      + Array(repeating: .client, count: assistants)
  }

  public static var kinds: [Finding.Kind] {
    [
      .unanswered, .doubled, .afterLeaving, .wrongAnswer, .dishonest, .kept, .falselyRunning,
      .misleading, .withheld, .reordered, .unwoken, .trespass, .stuck, .storm, .needless,
      .falselyConnected, .late, .leaked, .unbounded,
      .brokenInvariant, .endless, .unhealed,
    ]
  }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<RelayFeature>, watch: RunWatch<RelayFeature>?
  ) -> Outcome {
    var world = RelayWorld(plan, setup, watch: watch)
    return world.play()
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

/// The counters of this world.
public enum RelayCounter: String, RunCounter {
  case questions
  /// Questions that a phone answered with data, and refused calls.
  case answered, refused
  /// Pushes from the backend, and pulls by phones without a socket.
  case pushes, pulls

  public var label: String { rawValue }
}

/// A fact that is specific to this world.
public enum RelayFact: Sendable, Equatable {
  case backendStarted
  /// The backend's process ended. Waiting assistants notice a broken connection.
  case backendEnded
  /// A call reached the backend.
  case called(RequestID, RelayCallFacts)
  /// The backend sent an outcome.
  case answered(RequestID, RelayOutcome)
  /// The backend was notified that an assistant left.
  case left(RequestID)
  /// The backend stored a question with its assistant while handling the assistant's call.
  case filed(RequestID, StoredQuestion)
  /// The backend sent a phone its pair over a socket.
  case greeted(phone: Int, AttemptID, isResumed: Bool)
  /// The pairings of a phone may have ended, because the phone started anew or was away for too
  /// long.
  case unpaired(phone: Int)
  /// The questions that the backend has stored, and the time of its wall clock.
  case stored([StoredQuestion], wall: Timestamp)
  /// The backend sent a phone its pair over a connection, or was notified of the end of that
  /// connection.
  case joined(phone: Int, over: TrafficID)
  case parted(phone: Int, over: TrafficID)
  /// The backend sent a phone a question over a connection. `question` is its number.
  case sent(phone: Int, RelayRequestID, question: Int, over: TrafficID)
  /// The backend leased questions to a phone without a socket.
  case leased(phone: Int, LeasedQuestions)
  /// The push address of a phone is durable.
  case registered(phone: Int)
  case pushed(phone: Int)
  /// The push service reported that a push was not delivered.
  case pushFailed(phone: Int)
  case woken(phone: Int)
  case slept(phone: Int, PullReport)
  /// A log line of the backend contains a secret.
  case leaked(String)
}

/// A call from an assistant.
public struct RelayCallFacts: Sendable, Hashable {
  /// The number of the assistant.
  public var assistant: Int
  /// The bearer token.
  public var token: String?
  /// The number of the question; `nil` for logins and logouts.
  public var question: Int?
  /// Whether the call ends its own token.
  public var isLogout = false
  /// The pair with which the call logs in.
  public var pair: RelayGivenPair?
  /// Whether the backend and the phone were connected, with nothing delayed between them, when the
  /// call arrived.
  public var isSound = false

  /// The address from which the assistant calls.
  var address: String {
    assistant < RelayFeature.assistants
      ? "asker-\(assistant)" : "guesser-\(assistant - RelayFeature.assistants)"
  }

  /// The index of the phone that the assistant asks.
  public var phone: Int { min(assistant, RelayFeature.phones - 1) }
}

/// The pair of a login.
public struct RelayGivenPair: Sendable, Hashable {
  /// The word and the code. They are a secret of the world.
  public var text: String
  /// Whether no phone has ever shown the pair.
  public var isGuess = false
}

/// The feature's part of a phone's state. The checkers use it in addition to the link's state.
public struct RelayState: Sendable {
  /// The index of the phone.
  public var phone = 0
  /// The numbers of the run.
  public var numbers = RelayNumbers()
  /// The maximum time that a question takes with an idle phone.
  public var turn = Duration.zero
  /// The number of answers that were read and have not been discarded.
  public var held = 0
  /// Whether the phone shows a notification while its service is active.
  var hasNotification = false
  /// The number of questions that have not ended.
  var open = 0
  /// The relay's state as shown to the user.
  var state = RelayStatus.State.idle

  public init() {}
}

extension Finding.Kind {
  /// A question received neither an answer nor a correct error within its deadline.
  public static let unanswered = Finding.Kind(rawValue: "unanswered")
  /// A question received more than one outcome.
  public static let doubled = Finding.Kind(rawValue: "doubled")
  /// An assistant received an outcome after it had left.
  public static let afterLeaving = Finding.Kind(rawValue: "afterLeaving")
  /// An answer was sent to the wrong assistant, or belongs to another question.
  public static let wrongAnswer = Finding.Kind(rawValue: "wrongAnswer")
  /// A refusal stated the wrong reason.
  public static let dishonest = Finding.Kind(rawValue: "dishonest")
  /// The backend keeps a question in its store after the question's deadline.
  public static let kept = Finding.Kind(rawValue: "kept")
  /// Data was due, but the assistant received another outcome, or received the data much later.
  public static let withheld = Finding.Kind(rawValue: "withheld")
  /// A phone was not woken for a waiting question, although a push could have woken it.
  public static let unwoken = Finding.Kind(rawValue: "unwoken")
  /// The backend admitted an assistant with an invalid pair, or did not stop guesses.
  public static let trespass = Finding.Kind(rawValue: "trespass")
  /// A relay was shown as running before the backend sent the phone a code.
  public static let falselyRunning = Finding.Kind(rawValue: "falselyRunning")
}
