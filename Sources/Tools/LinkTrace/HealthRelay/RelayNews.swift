import HoldfastCore
import HoldfastHealthRelay
public import HoldfastLinkChecks
public import HoldfastRelayChecks

extension RelayFeature: TracedFeature {
  public static func news(of input: Input) -> [TraceNews] {
    switch input {
    case .prepared(let work, let prepared):
      switch prepared.content {
      case .points(let count, _):
        [.answered("read \(work.number)", isDone: true, count: count)]
      case .refused, .unreadable: [.answered("read \(work.number)", isDone: false, count: 0)]
      }
    case .start, .stop, .resume, .link, .opened, .message, .unsent, .closed: []
    }
  }

  public static func news(of effect: Effect) -> [TraceNews] {
    switch effect {
    case .read(let work, _, _, _): [.asks("read \(work.number)")]
    case .send, .refuse: [.sends(bytes: nil)]
    case .open, .close, .ping, .discard, .fail, .notify, .unnotify, .update: []
    }
  }

  public static func phone(of fact: Fact) -> Int? {
    switch fact {
    case .called(_, let facts): facts.phone
    case .greeted(let phone, _, _), .unpaired(let phone), .joined(let phone, _),
      .parted(let phone, _), .sent(let phone, _, _, _), .leased(let phone, _),
      .registered(let phone), .pushed(let phone), .pushFailed(let phone), .woken(let phone),
      .slept(let phone, _):
      phone
    case .backendStarted, .backendEnded, .answered, .left, .filed, .stored, .leaked: nil
    }
  }

  public static var ordinaryEvents: Set<String> { ["guesses"] }
}
