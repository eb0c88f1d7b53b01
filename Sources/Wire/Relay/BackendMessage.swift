public import LinkHealth

/// What the backend says to a phone.
public enum BackendMessage: Sendable, Hashable, Codable {
  /// The pair that a person tells the assistant; the phone counts as connected from here on.
  case connectionCode(ConnectionCode)
  /// A question; the answer carries the same id.
  case question(RelayRequestID, HealthQuestion)
  /// The question was withdrawn. Only our backend sends this.
  case cancel(RelayRequestID)
  /// A message of a `type` that this version does not know, to be answered if it has an id.
  case unknown(type: String, id: RelayRequestID?)
}

/// A word and a code that pair one assistant with this phone.
///
/// Code, word and resume token are secrets: the description shows none of them.
public struct ConnectionCode: Sendable, Hashable, Codable, CustomStringConvertible {
  /// Six digits.
  public var code: String
  /// A word of a dictionary.
  public var word: String
  /// For people.
  public var message: String
  /// How long the pair can be used; `nil` from a plain backend.
  public var expiresIn: Duration?
  /// What brings this session back after a loss; `nil` from a plain backend.
  public var resumeToken: String?
  /// Whether the assistants paired before still are.
  public var resumed: Bool
  /// Whether the backend puts an answer's parts together.
  public var acceptsParts: Bool

  /// What a plain backend says, by default.
  public init(
    code: String, word: String, message: String, expiresIn: Duration? = nil,
    resumeToken: String? = nil, resumed: Bool = false, acceptsParts: Bool = false
  ) {
    self.code = code
    self.word = word
    self.message = message
    self.expiresIn = expiresIn
    self.resumeToken = resumeToken
    self.resumed = resumed
    self.acceptsParts = acceptsParts
  }

  /// Without the secrets.
  public var description: String {
    "connection code\(resumed ? ", resumed" : "")\(acceptsParts ? ", accepts parts" : "")"
  }
}
