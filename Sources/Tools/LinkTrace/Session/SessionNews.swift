import HoldfastCore
public import HoldfastLinkChecks
import HoldfastSession
public import HoldfastSessionChecks
import HoldfastSessionData

extension SessionsFeature: TracedFeature {
  public static func news(of input: Input) -> [TraceNews] {
    switch input {
    case .prompt: [.wrote]
    case .frame(_, .draining, let bytes, _): [.receives(bytes: bytes), .draining]
    case .frame(_, _, let bytes, _): [.receives(bytes: bytes)]
    case .committed(let commit, _): [.stored("commit \(commit.number)", isDone: true)]
    case .commitFailed(let commit, _): [.stored("commit \(commit.number)", isDone: false)]
    case .restored, .start, .stop, .stopUnread, .retry, .discard, .cancel, .follow, .shown,
      .answersShown, .link, .credentials, .probed, .opened, .malformed, .reading, .unsent:
      []
    }
  }

  public static func news(of effect: Effect) -> [TraceNews] {
    switch effect {
    case .connect, .send: [.sends(bytes: nil)]
    case .commit(let commit, _): [.stores("commit \(commit.number)")]
    case .update(let update): news(of: update)
    case .open, .close, .refreshCredentials, .probe: []
    }
  }

  private static func news(of update: SessionUpdate) -> [TraceNews] {
    switch update {
    case .prompt(let prompt, _):
      switch prompt.state {
      case .queued: [.waits(prompt.key.description)]
      case .sent: []
      case .accepted, .answered: [.settled(prompt.key.description, isSent: true)]
      case .failed, .interrupted, .unsure: [.settled(prompt.key.description, isSent: false)]
      }
    case .pending(let prompts): prompts.map { .waits($0.id.description) }
    case .message(let entry, let via, _):
      [
        .shown(
          text: entry.text, made: via == .live ? entry.timestamp : nil, via: via.rawValue,
          position: nil)
      ]
    case .gap: [.gap]
    case .status, .quality, .part, .record, .notice: []
    }
  }

  public static func news(of fact: Fact) -> [TraceNews] {
    if case .ran = fact { [.reached] } else { [] }
  }

  public static func phone(of fact: Fact) -> Int? {
    switch fact {
    case .discarded(let phone, _), .dropped(let phone), .counted(let phone, _): phone
    case .ran, .broken: nil
    }
  }

  public static var ordinaryEvents: Set<String> { ["visits"] }
}
