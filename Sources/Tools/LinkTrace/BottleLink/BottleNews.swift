public import HoldfastBottleChecks
import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastCore
public import HoldfastLinkChecks

extension BottleFeature: TracedFeature {
  public static func linkName(of model: Model) -> String? { model.bottle?.name }

  public static func news(of input: Input) -> [TraceNews] {
    switch input {
    case .perform: [.wrote]
    case .committed(let commit, _): [.stored("commit \(commit)", isDone: true)]
    case .uncommitted(let commit, _): [.stored("commit \(commit)", isDone: false)]
    case .written(let write): [.posted("write \(write.number)", isDone: true)]
    case .unwritten(let write, _): [.posted("write \(write.number)", isDone: false)]
    case .start, .stop, .refresh, .hold, .choose, .shown, .link, .central, .discovered,
      .undiscovered, .heard, .restored:
      []
    }
  }

  public static func news(of effect: Effect) -> [TraceNews] {
    switch effect {
    case .write(_, let write, _, let bytes):
      [.posts("write \(write.number)"), .sends(bytes: bytes.count)]
    case .commit(let commit, _): [.stores("commit \(commit)")]
    case .connect(let attempt, _, isQueued: false, _): [.attempts(attempt)]
    case .update(.drink(let drink)):
      [
        .shown(
          text: "a drink of \(drink.record.amount) ml", made: drink.storedAt,
          via: drink.via == .live ? "live" : "catchUp", position: nil, id: "\(drink.record.id)")
      ]
    case .scan, .stopScan, .connect, .cancel, .discover, .confirm, .update: []
    }
  }

  public static func news(of fact: Fact) -> [TraceNews] {
    if case .recorded(let id) = fact { [.accepted("\(id)")] } else { [] }
  }

  public static func words(for failure: LinkFailure) -> (why: TraceReason, say: String)? {
    // The radio ends a connection after its own time without an answer, which is not the policy's.
    guard failure == .timeout(.silence) else { return nil }
    return (.noAnswer, "the radio no longer received the bottle, which is off or out of range")
  }

  public static var serverName: String { "bottle" }

  public static var ordinaryEvents: Set<String> { ["measures"] }
}
