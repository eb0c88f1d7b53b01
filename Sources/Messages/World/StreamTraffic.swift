public import HoldfastCore
import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastMessageData
public import HoldfastMessageServer
public import HoldfastMessageStream
public import HoldfastServerParts
import HoldfastUploads
import HoldfastWorldKernel

// The traffic between the hosts of the world.
extension StreamFeature {
  /// The contents of a phone's upgrade request.
  public struct Hello: Sendable {
    /// The position after which messages are requested.
    var after: ShopPosition?
    /// Whether edits and deletions are requested.
    var events = false
    var token: StreamToken
  }

  /// A message over a socket.
  public enum Packet: Sendable {
    /// The head of the log when the server began to send, and the position from which it continues.
    ///
    /// `events` is whether the server sends edits and deletions.
    case opened(head: ShopPosition?, after: ShopPosition?, events: Bool)
    case text([UInt8])
  }

  /// A request with its token.
  public struct Question: Sendable {
    var request: StreamRequest
    var token: StreamToken

    var isPost: Bool {
      switch request {
      case .post: true
      case .fetch, .image: false
      }
    }
  }

  /// An HTTP response, encoded as it is sent.
  public struct Reply: Sendable {
    var status: Int
    var retryAfter: Duration?
    var bytes: [UInt8]
    /// The header fields about images, by lowercase name.
    var headers: [String: String] = [:]
  }

  /// A scheduled event of this world.
  public enum ScheduledEvent: Sendable {
    case signsIn
    /// Others post the next of their remaining messages.
    case othersPost(left: Int)
    /// Others post, edit or delete the next of their remaining messages.
    case othersChange(left: Int)
    case logAnswers(StoreToken, LogQuestion)
    /// A report of another node about an event that it stored.
    case report(ShopPosition)
    /// The log and the files carry out work of the rules of images.
    case imageWork(ImageServer.Effect)
    case refreshed(TokenRefresh)
    /// A socket of another device answers a ping, or closes as requested.
    case rival(ConnectionID, isClosing: Bool)
    /// A change is written to the phone's store.
    case change(CommitID, TimelineChange)
    /// The phone's store answers.
    case input(StreamModel.Input)
  }
}

/// A request from the server to its log.
public enum LogQuestion: Sendable {
  case append(LogRequest)
  case shop(MessageID)
  case page(PageQuery)
  case head
  case heads
  case forget
}

/// A REST request from the phone.
enum StreamRequest: Sendable {
  case fetch(FetchID, PageQuery)
  case post(OutboxEntry, try: TryID)
  /// A request to upload or to find the image of an entry, with its number.
  case image(UUID128, UInt64, UploadRequest)
}

/// A token that admits a user.
struct StreamToken: Sendable {
  var number: Int
  /// The expiration time on the server's wall clock.
  var expiresAt: Timestamp

  /// The token's text. No part of it may appear outside of requests.
  var secret: String { "eyJhbGciOiJIUzI1NiJ9.secret-\(number).c2lnbmF0dXJl" }
}
