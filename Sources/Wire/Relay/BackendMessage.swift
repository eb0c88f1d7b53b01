public import LinkHealth
public import LinkJSON

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

/// Names one request to a phone, so that its answer finds the way back; 1 to 64 bytes of UTF-8.
public struct RelayRequestID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// As the backend gave it; compared, never taken apart.
  public let text: String

  /// The original's are UUIDs of 36 characters; the bound is ours. `nil` beyond it or if empty.
  public init?(_ text: some StringProtocol) {
    guard (1...Self.maxBytes).contains(text.utf8.count) else { return nil }
    self.text = String(text)
  }

  /// The longest id in bytes.
  public static let maxBytes = 64

  /// As the backend gave it.
  public var description: String { text }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = RelayRequestID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no request id")
    }
    self = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension JSONFields {
  /// The id of a request, under any of the names that were ever used for it.
  func requestID() throws(FieldFault) -> RelayRequestID? {
    for name in Self.idNames {
      guard let text = try optionalString(name), !text.isEmpty else { continue }
      guard let id = RelayRequestID(text) else { throw .outOfBounds(field: name) }
      return id
    }
    return nil
  }

  /// In the order in which they count.
  static let idNames = ["request_id", "requestId", "id"]
}

/// The reason why bytes are not a message of the relay, with what a reply about it needs.
public struct RelayWireError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The id of the request, if it was read.
  public var id: RelayRequestID?
  /// The kind of the question, if it was read.
  public var kind: HealthQuestion.Kind?
  /// What is wrong.
  public var fault: FieldFault

  /// Creates an error. `id` and `kind` are `nil` if the fault came before they were read.
  public init(_ fault: FieldFault, id: RelayRequestID? = nil, kind: HealthQuestion.Kind? = nil) {
    self.id = id
    self.kind = kind
    self.fault = fault
  }

  /// The error in a few words, for people.
  public var description: String { fault.description }
}

extension RelayWireError {
  /// Runs `body`, and says of its fault which request and which kind it belongs to.
  static func about<Value>(
    _ id: RelayRequestID?, _ kind: HealthQuestion.Kind? = nil,
    _ body: () throws(FieldFault) -> Value
  ) throws(RelayWireError) -> Value {
    do throws(FieldFault) {
      return try body()
    } catch {
      throw RelayWireError(error, id: id, kind: kind)
    }
  }
}
