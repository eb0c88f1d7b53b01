public import LinkCore
public import LinkServerCore
public import LinkStorage
public import LinkWire
public import MessageStream

// What passes between the hosts of the world.
extension StreamFeature {
  /// What a phone says with its upgrade request.
  public struct Hello: Sendable {
    /// What lies after this is wanted first.
    var after: Position?
    var token: StreamToken
  }

  /// A message on a socket.
  public enum Packet: Sendable {
    /// The head of the log when the server began to send, and the place it goes on from.
    case opened(head: Position?, after: Position?)
    case text([UInt8])
  }

  /// A request, with the token that it is sent with.
  public struct Question: Sendable {
    var request: StreamRequest
    var token: StreamToken

    var isPost: Bool {
      switch request {
      case .post: true
      case .fetch: false
      }
    }
  }

  /// An HTTP response as it comes off the wire.
  public struct Reply: Sendable {
    var status: Int
    var retryAfter: Duration?
    var bytes: [UInt8]
  }

  /// A future event of the world's own.
  public enum Cue: Sendable {
    case signsIn
    /// Others post the next of so many messages.
    case othersPost(left: Int)
    case logAnswers(StoreToken, LogQuestion)
    case refreshed(TokenRefresh)
    /// A socket of another device answers a ping, or closes as it was asked to.
    case rival(ConnectionID, isGone: Bool)
    /// A change for the phone's store.
    case change(CommitID, TimelineChange)
    /// The phone's store answers.
    case input(StreamModel.Input)
  }
}

/// What the server asks of its log.
public enum LogQuestion: Sendable {
  case append(Message, key: UUID128?)
  case page(PageQuery)
  case head
}

/// What the phone asks over REST.
enum StreamRequest: Sendable {
  case fetch(FetchID, PageQuery)
  case post(OutboxEntry, try: TryID)
}

/// What lets a user in.
struct StreamToken: Sendable {
  var number: Int
  /// By the wall clock of the server.
  var expiresAt: Timestamp

  /// Its text; none of it may ever be seen where it does not belong.
  var secret: String { "eyJhbGciOiJIUzI1NiJ9.secret-\(number).c2lnbmF0dXJl" }
}
