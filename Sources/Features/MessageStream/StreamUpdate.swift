public import LinkCore
public import LinkStorage
public import LinkWire

/// What the user of a stream sees happen, in order.
public enum StreamUpdate: Sendable, Hashable, Codable {
  case status(StreamStatus)
  /// Messages that were not shown before, in timeline order; each id comes once in a run.
  case messages([Message], via: Via)
  /// Messages that are shown and whose text changed.
  case edited([Message])
  /// A hole that older pages can fill.
  case gap(Gap)
  /// A hole is no more.
  case gapClosed(Gap)
  /// A message of the user waits, or could not be sent.
  case outbox(OutboxEntry)
  /// A message of the user went out (then as `message`), or was discarded.
  case outboxDone(UUID128, message: MessageID?)
  /// An older page was asked for and is here; whether there is more.
  case history(hasMore: Bool)
  case notice(StreamNotice)
}

/// How a message came to be shown.
public enum Via: String, Sendable, Hashable, Codable, CaseIterable {
  case live
  case catchUp
  case poll
  case history
}

/// The five states of seed 001 with what stands beside them.
public struct StreamStatus: Sendable, Hashable, Codable {
  /// Where the stream stands.
  public var state: State
  /// The number of the try, from 1, and how many there are; 0 and `nil` when none runs or waits.
  public var attempt: Int
  /// How many tries there are.
  public var of: Int?
  /// When the next try is made, if it waits for a time.
  public var retryAt: Instant?
  /// How messages come in now.
  public var mode: LinkStatus.Mode
  /// Why it is not connected.
  public var reason: LinkStatus.Reason?

  /// The seed's words.
  public enum State: String, Sendable, Hashable, Codable {
    case disconnected = "DISCONNECTED"
    case connecting = "CONNECTING"
    case connected = "CONNECTED"
    case reconnecting = "RECONNECTING"
    case failed = "FAILED"
  }

  /// The states are the seed's: FAILED means that polling does the work; an answer that ends the
  /// trying shows as DISCONNECTED with its reason.
  public init(_ link: LinkStatus) {
    switch link.phase {
    case .disconnected, .held, .failed: state = .disconnected
    case .connecting: state = .connecting
    case .connected: state = .connected
    case .reconnecting: state = .reconnecting
    case .standby: state = .failed
    }
    attempt = link.attempt
    of = link.of
    retryAt = link.retryAt
    mode = link.mode
    reason = link.reason
  }
}

/// What deserves a line in a log or a word to the user, and changes nothing by itself.
public enum StreamNotice: Sendable, Hashable, Codable {
  /// A frame or page entry was no valid message and was left out.
  case malformed(MessageError)
  /// Entries of a page were left out; the reason of the first one.
  case rejected(count: Int, first: MessageError? = nil)
  /// A frame of a kind that this version does not know.
  case unknownType(String)
  /// A message over the frame limit was dropped; the catch-up brings it.
  case oversized(bytes: UInt64)
  /// A page could not be fetched; it will be tried again.
  case fetchFailed(LinkFailure)
  /// A message of the user could not be posted; it will be tried again.
  case sendFailed(LinkFailure)
  /// The store refused; what it refused is kept and tried again.
  case store(StoreFailure)
  /// The store works again.
  case storeRecovered
  /// The server will close all streams within this time.
  case draining(within: Duration)
  /// The server's log began anew, or was put back to an earlier state.
  case newEpoch(Position)
  /// The user must sign in.
  case signIn
  /// The user is no member of the shop (any more).
  case forbidden
  /// TLS was refused: somebody may be listening.
  case security(LinkFailure)
}
