import LinkCore

/// One chapter of the demo: its faults, and how it plays them and fills the ledger.
protocol Chapter: Sendable {
  /// What `--chapter` calls it.
  var name: String { get }
  var title: String { get }
  /// Whether it looks at the phone that follows the shop's messages.
  var needsTraffic: Bool { get }
  /// The troubles that it plays, in order; each gets a row of the ledger.
  var troubles: [Trouble] { get }
  func play(on stage: isolated Stage) async throws(DemoFailure)
}

extension Chapter {
  var needsTraffic: Bool { true }
  var troubles: [Trouble] { [] }
}

extension Demo {
  /// The chapters in the order in which they are played. `Calm` comes last: it ends the traffic.
  ///
  /// The token expires early: the phone's first token must live until then.
  static let chapters: [any Chapter] = [
    SteadyTraffic(), PhoneTrouble.linkCut, TokenExpiry(), PhoneTrouble.halfOpenLink,
    PhoneTrouble.serverRestart, ServerRefusal(), PhoneTrouble.phoneKill, AssistantQuestions(),
    SessionPrompts(), HeldFeed(), HealthSyncing(), BottleDrinks(), Calm(),
  ]

  /// Returns the chapters of these names in their order, with the beginning and the end of the
  /// traffic if one of them needs it; all chapters for no name.
  static func chapters(named names: Set<String>) -> [any Chapter] {
    guard !names.isEmpty else { return chapters }
    let isTraffic = chapters.contains { names.contains($0.name) && $0.needsTraffic }
    return chapters.filter { chapter in
      names.contains(chapter.name) || isTraffic && (chapter is SteadyTraffic || chapter is Calm)
    }
  }
}

/// A fault of the demo.
struct Trouble: Sendable, Hashable {
  /// Its stable name in JSON.
  let name: String
  /// A few words for the ledger.
  let title: String
  /// Returns the longest times that a policy allows, plus the work.
  let bounds: @Sendable (LinkPolicy) -> Outcome.Bounds

  init(
    _ name: String, _ title: String, bounds: @escaping @Sendable (LinkPolicy) -> Outcome.Bounds
  ) {
    self.name = name
    self.title = title
    self.bounds = bounds
  }

  static func == (left: Trouble, right: Trouble) -> Bool { left.name == right.name }

  func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The troubles of all chapters, in order.
  static var all: [Trouble] { of(Demo.chapters) }

  /// The troubles of some chapters, in order.
  static func of(_ chapters: [any Chapter]) -> [Trouble] { chapters.flatMap(\.troubles) }
}

/// The outcome of one trouble.
struct Outcome: Sendable, Hashable {
  /// The longest times that the policy and the work of this machine allow.
  struct Bounds: Sendable, Hashable {
    /// Until the phone notices; `nil` for a trouble that it cannot notice.
    var noticed: Duration?
    /// Until everything is complete again.
    var whole: Duration
  }

  var trouble: Trouble
  /// From the beginning of the trouble to the phone's first status that is not connected; `nil` if
  /// there was none.
  var noticed: Duration?
  /// From the end of the trouble until every message accepted so far is shown, or the question is
  /// answered; `nil` if that did not happen.
  var whole: Duration?
  var bounds: Bounds

  /// Whether both times are within their bounds.
  var isHeld: Bool {
    guard let whole, whole <= bounds.whole else { return false }
    guard let bound = bounds.noticed else { return true }
    return noticed.map { $0 <= bound } ?? false
  }
}
