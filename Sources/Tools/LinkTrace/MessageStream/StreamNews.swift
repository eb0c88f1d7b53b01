import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastMessageChecks
import HoldfastMessageData
public import HoldfastMessageStream

extension StreamFeature: TracedFeature {
  public static func linkName(of model: Model) -> String? { "shop \(model.settings.shop)" }

  public static func news(of input: Input) -> [TraceNews] {
    switch input {
    case .send, .edit, .delete: [.wrote]
    case .opened(_, let head?, _, _): [.head(head.offset)]
    case .frame(_, .draining): [.draining]
    case .fetched(let fetch, let page):
      [.answered("fetch \(fetch.number)", isDone: true, count: page.messages.count)]
    case .fetchFailed(let fetch, _): [.answered("fetch \(fetch.number)", isDone: false, count: 0)]
    case .posted(let entry, _), .edited(let entry, _), .deleted(let entry, _),
      .uploaded(let entry, _, _):
      [.posted("post \(entry)", isDone: true)]
    case .postFailed(let entry, _, _), .uploadRefused(let entry, _, _):
      [.posted("post \(entry)", isDone: false)]
    case .committed(let commit, _): [.stored("commit \(commit.number)", isDone: true)]
    case .commitFailed(let commit, _): [.stored("commit \(commit.number)", isDone: false)]
    case .open, .close, .realtime, .refresh, .reader, .loadOlder, .retry, .discard, .link,
      .credentials, .user, .opened, .frame, .loaded, .loadFailed, .older, .olderFailed:
      []
    }
  }

  public static func news(of effect: Effect) -> [TraceNews] {
    switch effect {
    case .fetch(let fetch, _): [.asks("fetch \(fetch.number)")]
    case .post(let entry, _), .upload(let entry, _): [.posts("post \(entry.id)")]
    case .commit(let commit, _): [.stores("commit \(commit.number)")]
    case .update(let update): news(of: update)
    case .open, .close, .ping, .refreshCredentials, .load, .readOlder: []
    }
  }

  private static func news(of update: StreamUpdate) -> [TraceNews] {
    switch update {
    case .messages(let messages, let via):
      messages.map {
        .shown(
          text: $0.text, made: via == .history ? nil : $0.createdAt, via: via.rawValue,
          position: $0.position?.offset, id: $0.id.description)
      }
    case .gap: [.gap]
    case .gapClosed: [.gapClosed]
    case .outbox(let entry): [.waits(entry.id.description)]
    case .outboxDone(let entry, let message):
      [.settled(entry.description, isSent: message != nil)]
    case .status, .edited, .deleted, .history, .notice: []
    }
  }

  public static func news(of fact: Fact) -> [TraceNews] {
    if case .accepted(let message, isNew: true) = fact {
      [.accepted(message.id.description)]
    } else {
      []
    }
  }

  public static var ordinaryEvents: Set<String> { ["edit", "others"] }
}
