import LinkCore
import LinkStorage
import LinkWire

@testable import MessageStream

/// Events in flight between phone, disk and server.
enum Event {
  /// Reaches the process, if it still runs.
  case input(process: Int, StreamModel.Input)
  /// Reaches the process over a socket, if that still stands.
  case socket(Socket, StreamModel.Input)
  /// A request for a page, an upgrade or a post reaches the server.
  case fetch(process: Int, FetchID, PageQuery, token: Int)
  case upgrade(Socket, after: Position?, token: Int)
  case post(process: Int, OutboxEntry, TryID, token: Int)
  /// The server's ping timer.
  case pings(Socket)
  case commit(process: Int, CommitID, TimelineChange)
  case refresh(process: Int)

  /// Whether it is on the way between phone and server.
  var isOnTheWay: Bool {
    switch self {
    case .socket, .fetch, .upgrade, .post: true
    case .input(_, let input): input.isAnswer
    case .pings, .commit, .refresh: false
    }
  }
}

/// One try to have a socket, of one run of the process.
struct Socket: Hashable {
  var process: Int
  var attempt: AttemptID
}

extension StreamModel.Input {
  /// Whether the network brings it.
  var isAnswer: Bool {
    switch self {
    case .fetched, .fetchFailed, .posted, .postFailed: true
    case _: false
    }
  }
}

/// Events by time; equal times in the order in which they were added.
struct EventQueue {
  private var entries: [(at: Instant, event: Event)] = []

  var next: Instant? { entries.last?.at }
  var count: Int { entries.count }

  mutating func add(_ event: Event, at time: Instant) {
    let place = entries.lastIndex { $0.at > time }.map { $0 + 1 } ?? 0
    entries.insert((time, event), at: place)
  }

  mutating func pop() -> Event? { entries.popLast()?.event }

  mutating func removeAll(where isGone: (Event) -> Bool) {
    entries.removeAll { isGone($0.event) }
  }
}
