public import LinkCore
public import LinkStorage
public import LinkWire

extension SessionServer {
  /// Everything that can happen to the server of sessions.
  ///
  /// `wall` is the wall clock when the input arrived: it stamps what is kept.
  public enum Input: Sendable, Hashable, Codable {
    /// What the store held when the process began; said once, before anything else.
    case restored(StoredSessions, wall: Timestamp)

    /// A well-formed upgrade arrived.
    case opened(ConnectionID, Arrival, wall: Timestamp)
    /// Any byte came from a socket.
    case heard(ConnectionID)
    /// A client sent a message; `proof` is the judgement of the keys in a `connect`.
    case said(ConnectionID, SessionClientMessage, proof: Proof, wall: Timestamp)
    /// A client sent what is no message; `field` is at fault, if it is a single one.
    case unreadable(ConnectionID, detail: String, field: String?)
    /// The socket took all that was queued, after `noticeDrain`.
    case drained(ConnectionID)
    /// The send queue of a socket passed its bound.
    case overflowed(ConnectionID)
    /// A socket is gone. Said once for every connection, whoever ended it.
    case gone(ConnectionID, wall: Timestamp)

    /// The handler of a prompt wrote a part of its response.
    case produced(SessionPromptID, String)
    /// The handler of a prompt has ended; said once for each `run`.
    case ended(SessionPromptID, SessionResponse.Result, wall: Timestamp)

    /// The store made a change durable, or failed to.
    case stored(StoreToken, failure: StoreFailure?, wall: Timestamp)
    /// Go away politely; clients are told to spread their return over `within`.
    case drain(within: Duration)
  }

  /// The client of an upgrade.
  public struct Arrival: Sendable, Hashable, Codable {
    /// The client's address, an IPv6 one cut to its /64.
    public var address: String
    /// 32 lower-case hexadecimal digits that no one can foresee.
    public var challenge: String

    /// An arrival from its parts.
    public init(address: String, challenge: String) {
      (self.address, self.challenge) = (address, challenge)
    }
  }

  /// The judgement of what a client shows in `connect`.
  public enum Proof: Sendable, Hashable, Codable {
    /// Nothing, or what is wrong.
    case none
    /// The key of the server.
    case key
    /// The challenge of its connection, signed with the key of the server.
    case challenge
  }
}
