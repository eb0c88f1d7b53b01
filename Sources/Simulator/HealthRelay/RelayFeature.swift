public import HealthRelay
public import LinkCore
public import LinkServerCore
public import LinkStorage
public import LinkWire

/// HealthRelay in a world: two phones, a backend, and three assistants that ask.
public enum RelayFeature: SimulatedFeature {
  /// What a journal tells about its user and its shell.
  public typealias Record = RelayRecord
  /// The model of a relay on a phone.
  public typealias Model = RelayModel
  /// What can happen beside the verbs of the kernel.
  public typealias Verb = RelayVerb
  /// What its plans fix beside the weather.
  public typealias Numbers = RelayNumbers
  /// There is one kind of server.
  public typealias Server = OneServer
  /// Its deliberate defects.
  public typealias Defect = RelayDefect
  /// The checkers of its own promises.
  public typealias Checkers = RelayCheckers
  /// What it counts.
  public typealias Tally = RelayTally
  /// What only it knows to have happened.
  public typealias Fact = RelayFact
  /// What its checkers see of a phone.
  public typealias State = RelayState

  /// The phones, and the assistants; the last two assistants ask the same phone.
  static let phones = 2, askers = 3

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
      + Array(repeating: .client, count: askers)
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
    _ standing: Standing<RelayFeature>, _ found: (String, Int, Int) -> Void
  ) {
    // One question is read for at a time.
    if standing.own.held > 1 { found("answers held by the shell", standing.own.held, 1) }
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

/// What the world counts.
public enum RelayTally: String, RunTally {
  case questions
  /// Questions with data of a phone, and calls that were refused.
  case answered, refused
  /// Pushes of the backend, and visits of phones without a socket.
  case pushes, pulls

  public var label: String { rawValue }
}

/// What only this world knows to have happened.
public enum RelayFact: Sendable, Equatable {
  case backendStarted
  /// The backend's process ended: waiting assistants hear that the connection broke.
  case backendEnded
  /// A call reached the backend.
  case asked(RequestID, RelayCallFacts)
  /// The backend said an outcome.
  case told(RequestID, RelayOutcome)
  /// The backend heard that an assistant had gone.
  case left(RequestID)
  /// The backend keeps a question as that of an assistant, while the assistant asks it.
  case filed(RequestID, StoredQuestion)
  /// The backend sent a phone its pair over a socket.
  case greeted(phone: Int, AttemptID, isResumed: Bool)
  /// The pairings of a phone may have ended: it began anew, or was away for too long.
  case unpaired(phone: Int)
  /// The questions that are durable at the backend, and its wall clock.
  case kept([StoredQuestion], wall: Timestamp)
  /// The backend told a phone its pair over a connection, and knows that the connection ended.
  case joined(phone: Int, over: TrafficID)
  case parted(phone: Int, over: TrafficID)
  /// The backend sent a phone a question over a connection, by its number.
  case sent(phone: Int, RelayRequestID, question: Int, over: TrafficID)
  /// The backend lent questions to a phone without a socket.
  case leased(phone: Int, LeasedQuestions)
  /// The address at which a push wakes a phone is durable.
  case registered(phone: Int)
  case pushed(phone: Int)
  /// The push service said that a push was not delivered.
  case pushFailed(phone: Int)
  case woken(phone: Int)
  case slept(phone: Int, PullReport)
  /// A secret stands in what the backend logs.
  case leaked(String)
}

/// A call of an assistant.
public struct RelayCallFacts: Sendable, Hashable {
  /// The number of the assistant.
  public var asker: Int
  /// The bearer token.
  public var token: String?
  /// The number of the question; `nil` for logins and logouts.
  public var question: Int?
  /// Whether it ends its own token.
  public var isLogout = false
  /// What it logs in with.
  public var pair: RelayGivenPair?
  /// Whether nothing stood between the backend and the phone when the call came, and nothing was
  /// delayed on the way.
  public var isSound = false

  /// The address that it came from.
  var address: String {
    asker < RelayFeature.askers ? "asker-\(asker)" : "guesser-\(asker - RelayFeature.askers)"
  }

  /// The phone that the assistant asks.
  var phone: Int { min(asker, RelayFeature.phones - 1) }
}

/// A pair that was given at a login.
public struct RelayGivenPair: Sendable, Hashable {
  /// The word and the code: a secret of the world.
  public var text: String
  /// Whether no phone ever showed it.
  public var isGuess = false
}

/// What the checkers see of a phone beside its link.
public struct RelayState: Sendable {
  /// The number of the phone.
  public var phone = 0
  /// The numbers of the run.
  public var numbers = RelayNumbers()
  /// The longest time that a question takes at a phone that has nothing else to do.
  public var turn = Duration.zero
  /// Answers that were read and not discarded.
  public var held = 0
  /// Whether a notification stands while the service is up.
  var hasNotification = false
  /// How many questions have not ended.
  var open = 0
  /// What the user is shown.
  var state = RelayStatus.State.idle

  public init() {}
}

extension Finding.Kind {
  /// A question had neither an answer nor an honest error within its deadline.
  public static let unanswered = Finding.Kind(rawValue: "unanswered")
  /// A question had more than one outcome.
  public static let doubled = Finding.Kind(rawValue: "doubled")
  /// An assistant was told something after it had left.
  public static let afterLeaving = Finding.Kind(rawValue: "afterLeaving")
  /// An answer went to the wrong assistant, or answers another question.
  public static let wrongAnswer = Finding.Kind(rawValue: "wrongAnswer")
  /// A refusal whose reason is not true.
  public static let dishonest = Finding.Kind(rawValue: "dishonest")
  /// The backend keeps a question after its deadline.
  public static let kept = Finding.Kind(rawValue: "kept")
  /// Data were due, and an assistant was told something else, or much later.
  public static let withheld = Finding.Kind(rawValue: "withheld")
  /// A phone that a push can wake was not woken for a question that waited.
  public static let unwoken = Finding.Kind(rawValue: "unwoken")
  /// A pair that is worth nothing let an assistant in, or guesses were not stopped.
  public static let trespass = Finding.Kind(rawValue: "trespass")
  /// Running was shown before the backend told the phone a code.
  public static let falselyRunning = Finding.Kind(rawValue: "falselyRunning")
}
