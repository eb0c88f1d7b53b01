import LinkCore
import LinkWire

/// What was said on one connection, and what is awaited of it.
struct Talk: Sendable, Hashable {
  enum Stage: Sendable, Hashable {
    /// The socket is not open, or `hello` did not come.
    case opening
    /// `connect` was sent.
    case greeted
    /// `connected` came.
    case connected
  }

  struct Ping: Sendable, Hashable {
    var id: UInt64
    var sentAt: Instant
  }

  /// What an ack without a key can belong to, in order.
  enum Awaited: Sendable, Hashable {
    case size
    case prompt(UUID128)
  }

  /// A prompt that was handed over and not acknowledged: the next one waits for it.
  struct Upload: Sendable, Hashable {
    var key: UUID128
    /// Until then it holds up other prompts.
    var until: Instant
    /// Until then it may hold up pings; for a small one, and behind one that brought no sign of
    /// life, that is at once.
    var deafUntil: Instant
  }

  struct Large: Sendable, Hashable {
    var key: UUID128
    /// Until then.
    var until: Instant
  }

  let attempt: AttemptID
  var stage = Stage.opening
  var version = SessionVersion.oldest
  var features: Set<SessionFeature> = []
  var isDraining = false
  /// Whether the socket is not read, since the app leaves messages unread.
  var isPaused = false
  var malformed = 0
  var knowsSkew = false

  var pings: [Ping] = []
  var awaited: [Awaited] = []
  var upload: Upload?
  /// Whether an upload held up pings since the server was heard last: the next one does not, so a
  /// dead connection ends.
  var wasDeaf = false
  /// The last prompt without an ack that takes a while to upload: our pings wait behind it, so
  /// control frames of the server prove that the connection lives.
  var large: Large?
  /// Prompts that were handed to this connection and not answered.
  var sent: Set<UUID128> = []
  /// Pieces of responses that are being made, by the key of their prompt.
  var pieces = ResponsePieces()
  /// The size that the server was told.
  var toldSize: Int?
  /// Subscriptions without an answer, and when they count as unanswered.
  var subscribing: [String: Instant] = [:]
  /// Conversations that were subscribed to.
  var subscribed: Set<String> = []
  /// Conversations that are to be subscribed to again, behind what is stored.
  var again: Set<String> = []
  /// Conversations of which everything that the server had is here.
  var current: Set<String> = []
  /// Conversations whose hole was asked for once.
  var holes: Set<String> = []
  /// The last text of the assistant in a history since a prompt was sent, for a response without
  /// an id.
  var written: [String: String] = [:]
  /// Prompts that a plain server's history repeated, and whether a text of the assistant followed
  /// there: the answer, should no response come.
  var repeated: [UUID128: Bool] = [:]

  let startedAt: Timestamp
  let begin: Instant
  var connectedAt: Instant?
  var roundTrip: Duration?

  init(_ attempt: AttemptID, at wall: Timestamp, _ now: Instant) {
    (self.attempt, startedAt, begin) = (attempt, wall, now)
  }

  var isIdempotent: Bool { features.contains(.idempotency) }

  /// Whether an answer is awaited that can be large.
  var awaitsMuch: Bool { !subscribing.isEmpty || !sent.isEmpty }

  var deadline: Instant? { [upload?.until, subscribing.values.min()].compactMap(\.self).min() }
}

extension Talk: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      stage == .connected
        || pings.isEmpty && awaited.isEmpty && upload == nil && sent.isEmpty
          && subscribed.isEmpty && subscribing.isEmpty,
      "talk: nothing but connect is said before connected")
    if let upload {
      check.require(sent.contains(upload.key), "talk: what is uploaded was sent")
    }
    check.require(
      (connectedAt != nil) == (stage == .connected), "talk: the time of connected is known")
    guard check.isThorough else { return }
    check.require(
      subscribed.isSuperset(of: subscribing.keys), "talk: what is awaited was subscribed to")
  }
}
