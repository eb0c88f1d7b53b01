import HoldfastCore
public import HoldfastHeldChecks
import HoldfastHeldSocket
public import HoldfastLinkChecks

extension HeldFeature: TracedFeature {
  public static func news(of input: Input) -> [TraceNews] {
    switch input {
    case .send(let id, _): [.wrote, .waits(String(id))]
    case .socket(_, .message(let message, _)): [.receives(bytes: message.count)]
    case .stored(let id): [.stored("store \(id)", isDone: true)]
    case .storeFailed(let id, _):
      [.stored("store \(id)", isDone: false), .settled(String(id), isSent: false)]
    case .restored(let messages): messages.map { .waits(String($0.id)) }
    case .start, .stop, .standing, .makeStanding, .link, .credentials, .socket: []
    }
  }

  public static func news(of effect: Effect) -> [TraceNews] {
    switch effect {
    case .send(_, let entry): [.sends(bytes: entry.message.count)]
    case .standing(_, let message): [.sends(bytes: message.count)]
    case .greet, .resume, .makeStanding, .ask: [.sends(bytes: nil)]
    case .store(let entry): [.stores("store \(entry.id)")]
    case .update(.message(let message)):
      [
        .shown(
          text: message.text ?? "a message of \(message.count) bytes", made: nil, via: "live",
          position: nil)
      ]
    case .update(.proven(let id)): [.settledThrough(id)]
    case .update(.notice(.unproven(let count, isRepeated: false))): [.unproven(count: count)]
    case .update(.notice(.notConnected(let id))), .update(.notice(.refused(let id, _))),
      .update(.notice(.notStored(let id, _))):
      [.settled(String(id), isSent: false)]
    case .open, .close, .ping, .refreshCredentials, .remove, .update: []
    }
  }

  public static func news(of fact: Fact) -> [TraceNews] {
    if case .heard(_, .said) = fact { [.reached] } else { [] }
  }

  /// Without an outbox that repeats, only the queue shows that an entry arrived.
  public static func waiting(_ state: State) -> Int? { state.queued }

  public static var ordinaryEvents: Set<String> { ["feed"] }
}
