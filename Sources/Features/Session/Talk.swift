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

  /// What an ack without a key can belong to.
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
  /// How many acks of them came of which it is not known whose they are.
  var looseAcks = 0
  /// Whether messages of the server were acknowledged: an error may be about that.
  var hasAcknowledged = false
  /// Until then nothing else that earns an ack is said to a plain server.
  var askedUntil: Instant?
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

  /// Whether everything that the server had of a conversation is here.
  func isCurrent(_ conversation: String) -> Bool {
    current.contains(conversation) && !again.contains(conversation)
      && subscribing[conversation] == nil
  }

  /// Whether something may be said to a plain server that earns an ack, which then is its own.
  var mayAsk: Bool { isIdempotent || awaited.isEmpty || askedUntil == nil }

  var deadline: Instant? {
    [upload?.until, subscribing.values.min(), askedUntil].compactMap(\.self).min()
  }

  /// Says something that earns an ack.
  mutating func expectAck(of one: Awaited, at now: Instant) {
    awaited.append(one)
    if !isIdempotent { askedUntil = now.advanced(by: SessionSettings.askTime) }
  }

  /// An ack is awaited no more.
  mutating func forget(_ one: Awaited) {
    awaited.removeAll { $0 == one }
    if awaited.isEmpty { (looseAcks, askedUntil) = (0, nil) }
  }
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
