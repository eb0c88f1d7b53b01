import HoldfastCore
import HoldfastHealthRelay
public import HoldfastLinkChecks
public import HoldfastRelayChecks
public import HoldfastWorldKernel

// The world of HealthRelay: two phones, a backend, and three assistants that ask questions.
extension RelayFeature: SimulatedFeature {
  /// The checkers of what only the world knows.
  public typealias WorldCheckers = RelayWorldCheckers
  /// The kinds of planned events, in addition to those of the kernel.
  public typealias EventKind = RelayEventKind
  /// The numbers that a plan fixes for a run, in addition to the network conditions.
  public typealias Numbers = RelayNumbers
  /// The servers of this world. There is only one.
  public typealias Server = OneServer
  /// The deliberate defects of this world.
  public typealias Defect = RelayDefect
  /// The counters of this world.
  public typealias Counter = RelayCounter

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

extension RelayCallFacts {
  /// The address from which the assistant calls.
  var address: String {
    assistant < RelayFeature.assistants
      ? "asker-\(assistant)" : "guesser-\(assistant - RelayFeature.assistants)"
  }
}

extension Finding.Kind {
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

// The digest of a run. In addition to their roles, inputs and effects are distinguished by their
// descriptions in traces.
extension RelayFeature {
  public static func mix(_ input: Input, into digest: inout Digest) {
    digest.mix(describe(input).what)
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    digest.mix(describe(effect, isVerbose: true)?.what ?? statusLabel(effect) ?? "")
  }

  public static func mix(_ fact: Fact, into digest: inout Digest) {
    for part in describe(fact) { digest.mix(part.what) }
    if case .stored(let questions, _) = fact { digest.mix(UInt64(questions.count)) }
  }
}
