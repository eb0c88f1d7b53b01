public import LinkCore

/// Nothing: what a phone says with its upgrade request, or asks beside it, by default.
public struct Nothing: Sendable, Equatable {
  public init() {}
}

// What a feature has in common with most others, unless it says otherwise.
extension SimulatedFeature {
  public static var presets: [DayPreset] { DayPreset.allCases }
  public static func hosts(_ numbers: Numbers) -> [HostKind] { [.phone, .backend] }
  public static var patience: Duration { .zero }
  public static func isHealed(_ standing: Standing<Self>) -> Bool { true }
  public static func restsUntil(_ standing: Standing<Self>) -> Instant? { nil }
  public static func remains(_ standing: Standing<Self>) -> String { "" }
  public static func checkBounds(
    _ standing: Standing<Self>, _ found: (_ what: String, _ count: Int, _ bound: Int) -> Void
  ) {}
  public static func expose(_ effect: Effect, _ look: (_ text: String, _ place: String) -> Void) {}
  public static func isLogged(_ effect: Effect) -> Bool { false }

  // The tape: a description tells values apart, if not fast.
  public static func mix(_ input: Input, into digest: inout Digest) { digest.mix("\(input)") }
  public static func mix(_ effect: Effect, into digest: inout Digest) { digest.mix("\(effect)") }
  public static func mix(_ fact: Fact, into digest: inout Digest) { digest.mix("\(fact)") }

  // Stories.
  public static func words(_ input: Input) -> StoryPart { Words.cause(input, of: Model.self) }
  public static func words(_ effect: Effect, isVerbose: Bool) -> StoryPart? {
    Words.effect(effect, of: Model.self, isVerbose: isVerbose)
  }
  public static func words(_ fact: Fact) -> [StoryPart] { [(.server, "\(fact)")] }
  public static func statusWords(_ effect: Effect) -> String? { nil }
  public static func isWorth(_ input: Input, _ consequences: [StoryPart]) -> Bool { true }
}

extension Finding.Kind {
  /// The promises of every link, in the order of tables.
  public static let ofLinks: [Finding.Kind] = [
    .stuck, .storm, .needless, .falselyConnected, .late, .unbounded, .brokenInvariant, .endless,
    .unhealed,
  ]
}
