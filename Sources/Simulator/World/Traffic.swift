import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

/// Names a connection or an exchange of a world; never used twice in it.
typealias Number = UInt64

/// What is to happen in a world.
enum Event {
  // The plan.
  case begins(Int)
  case ends(Int)
  /// The system stops a process that went to the background for an action.
  case suspends(Int)
  /// A kill that found no step to fall into.
  case dies(run: Int)
  case signsIn
  /// Others post the next of so many messages.
  case othersPost(left: Int)

  // Sockets.
  case upgradeArrives(Number)
  /// Some bytes of the phone come to the server; with a ping they are answered.
  case heard(Number, ping: UInt64?)
  case hungUp(Number, code: UInt16)
  case down(Number, Down)
  /// The phone's own system says that a socket ended.
  case breaks(Number, LinkFailure)
  /// It says so of a socket that the phone closed itself, as callbacks do that were under way.
  case echoes(run: Int, AttemptID, LinkFailure)

  // Requests.
  case requestArrives(Number)
  case answerArrives(Reply, isCopy: Bool)
  /// The phone's HTTP client waits no longer.
  case requestExpires(Number)

  // Stores, and who gives tokens.
  case logAnswers(generation: Int, StoreToken, LogQuestion)
  case becomesDurable(run: Int, CommitID, TimelineChange)
  case storeAnswers(run: Int, StreamModel.Input)
  case refreshed(run: Int, Action.Refresh)
}

/// What the server asks of its log.
enum LogQuestion {
  case append(Message, key: UUID128?)
  case page(PageQuery)
  case head
}

/// What comes down a socket.
enum Down {
  case opened(head: Position?, after: Position?)
  case text([UInt8])
  case ping
  case pong(UInt64)
  case oversized(bytes: UInt64)
  case failed(LinkFailure)
}

/// One try to have a socket, and the socket that comes of it; both sides of it.
struct Line {
  let number: Number
  let run: Int
  let attempt: AttemptID
  /// What the phone wants first is what lies after it.
  let after: Position?
  let token: Token
  /// The phone has not closed it and was not told that it ended.
  var phoneHolds = true
  var serverHolds = false
  /// Nothing passes on it any more.
  var isDead = false
  var isOpen = false
  /// When the last of what was sent down arrives.
  var downFree = Instant.zero
  var upFree = Instant.zero
  var lastUsed: Instant
}

/// A request of the phone that will still be answered.
struct Exchange {
  let number: Number
  let run: Int
  let what: Request
  var token: Token
  /// When it, or its second try, was sent.
  var began: Instant
  /// It was sent a second time with a newer token.
  var isSecond = false
  /// Nobody on the phone waits for it any more.
  var isAbandoned = false
}

/// What the phone asks over REST.
enum Request {
  case fetch(FetchID, PageQuery)
  case post(OutboxEntry)
}

/// An answer on its way down.
struct Reply {
  let number: Number
  let run: Int
  let what: Request
  let result: Result<Answered, LinkFailure>
}

/// An HTTP response as it comes off the wire.
struct Answered {
  var status: Int
  var retryAfter: Duration?
  var bytes: [UInt8]
}

/// What lets a user in.
struct Token {
  var number: Int
  /// By the wall clock of the server.
  var expiresAt: Timestamp

  /// Its text; none of it may ever be seen where it does not belong.
  var secret: String { "eyJhbGciOiJIUzI1NiJ9.secret-\(number).c2lnbmF0dXJl" }
}

extension StreamModel.Input {
  /// The attempt that it belongs to, where it belongs to one.
  var attempt: AttemptID? {
    switch self {
    case .opened(let attempt, _, _), .frame(let attempt, _), .ping(let attempt),
      .pong(let attempt, _), .oversized(let attempt, _), .lost(let attempt, _):
      attempt
    case .open, .close, .realtime, .refresh, .reader, .loadOlder, .send, .retry, .discard,
      .reachability, .lifecycle, .woke, .credentials, .user, .fetched, .fetchFailed, .posted,
      .postFailed, .loaded,
      .loadFailed, .committed, .commitFailed, .older, .olderFailed:
      nil
    }
  }
}
