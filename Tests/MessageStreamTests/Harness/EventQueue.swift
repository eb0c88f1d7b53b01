import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

/// An event in transit between the phone, its disk and the server.
enum Event {
  /// An input that reaches the process if the process is still running.
  case input(process: Int, StreamModel.Input)
  /// An input that reaches the process over a socket if the socket is still open.
  case socket(Socket, StreamModel.Input)
  /// A request for a page, an upgrade or a post that reaches the server.
  case fetch(process: Int, FetchID, PageQuery, token: Int)
  case upgrade(Socket, after: ShopPosition?, token: Int)
  case post(process: Int, OutboxEntry, TryID, token: Int)
  /// The expiry of the server's ping timer.
  case pings(Socket)
  case commit(process: Int, CommitID, TimelineChange)
  case refresh(process: Int)

  /// Whether the event is in transit between the phone and the server.
  var isOnTheWay: Bool {
    switch self {
    case .socket, .fetch, .upgrade, .post: true
    case .input(_, let input): input.isAnswer
    case .pings, .commit, .refresh: false
    }
  }
}

/// An attempt to open a socket, made by one run of the process.
struct Socket: Hashable {
  var process: Int
  var attempt: AttemptID
}

extension StreamModel.Input {
  /// Whether the input is a response that arrives over the network.
  var isAnswer: Bool {
    switch self {
    case .fetched, .fetchFailed, .posted, .edited, .deleted, .uploaded, .uploadRefused, .postFailed:
      true
    case _: false
    }
  }
}

/// A queue of events in chronological order. Events with equal times keep their insertion order.
struct EventQueue {
  private var entries: [(at: Instant, event: Event)] = []

  var next: Instant? { entries.last?.at }
  var count: Int { entries.count }

  mutating func add(_ event: Event, at time: Instant) {
    let index = entries.lastIndex { $0.at > time }.map { $0 + 1 } ?? 0
    entries.insert((time, event), at: index)
  }

  mutating func pop() -> Event? { entries.popLast()?.event }

  mutating func removeAll(where isRemoved: (Event) -> Bool) {
    entries.removeAll { isRemoved($0.event) }
  }
}
