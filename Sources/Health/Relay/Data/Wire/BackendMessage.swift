public import HoldfastHealth
public import HoldfastJSON

/// A message from the backend to a phone.
public enum BackendMessage: Sendable, Hashable, Codable {
  /// The pairing code that the user gives to the assistant. From this message on, the phone counts
  /// as connected.
  case connectionCode(ConnectionCode)
  /// A question. The answer has the same id.
  case question(RelayRequestID, HealthQuestion)
  /// A notice that a question was withdrawn. Plain backends do not send it.
  case cancel(RelayRequestID)
  /// A message whose `type` is unknown to this version. It is answered if it has an id.
  case unknown(type: String, id: RelayRequestID?)
}

/// A word and a code that pair one assistant with this phone.
///
/// The code, the word and the resume token are secrets. The description contains none of them.
public struct ConnectionCode: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The six digits of the code.
  public var code: String
  /// The word, or two words joined by a hyphen.
  public var word: String
  /// A human-readable message.
  public var message: String
  /// The time for which the code can be used, or `nil` if a plain backend sent it.
  public var expiresIn: Duration?
  /// The token that resumes this session after a loss of the connection, or `nil` if the backend
  /// sent none.
  public var resumeToken: String?
  /// Whether the session was resumed, so that assistants paired earlier are still paired.
  public var resumed: Bool
  /// Whether the backend accepts an answer in parts.
  public var acceptsParts: Bool
  /// The assistants that have signed in since the last code, oldest first.
  public var newAssistants: [PairedAssistants.Assistant]

  /// Creates a code. The defaults are those of a plain backend.
  public init(
    code: String, word: String, message: String, expiresIn: Duration? = nil,
    resumeToken: String? = nil, resumed: Bool = false, acceptsParts: Bool = false,
    newAssistants: [PairedAssistants.Assistant] = []
  ) {
    self.code = code
    self.word = word
    self.message = message
    self.expiresIn = expiresIn
    self.resumeToken = resumeToken
    self.resumed = resumed
    self.acceptsParts = acceptsParts
    self.newAssistants = newAssistants
  }

  /// A description without the secrets.
  public var description: String {
    "connection code\(resumed ? ", resumed" : "")\(acceptsParts ? ", accepts parts" : "")"
  }
}

/// The id of a request to a phone: 1 to 64 bytes of UTF-8. The answer repeats it.
public struct RelayRequestID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The id as the backend sent it. It is compared, but never parsed.
  public let text: String

  /// Creates an id. Returns `nil` if the text is empty or too long.
  ///
  /// The limit is this package's own. Ids are usually UUIDs of 36 characters.
  public init?(_ text: some StringProtocol) {
    guard (1...Self.maxBytes).contains(text.utf8.count) else { return nil }
    self.text = String(text)
  }

  /// The maximum size of an id, in bytes.
  public static let maxBytes = 64

  /// The id as the backend sent it.
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
  /// Returns the id of a request. It may have any name that was ever used for it.
  func requestID() throws(FieldFault) -> RelayRequestID? {
    for name in Self.idNames {
      guard let text = try optionalString(name), !text.isEmpty else { continue }
      guard let id = RelayRequestID(text) else { throw .outOfBounds(field: name) }
      return id
    }
    return nil
  }

  /// The names of the id, in order of precedence.
  static let idNames = ["request_id", "requestId", "id"]
}

/// The reason why bytes are not a message of the relay, with the values that a reply requires.
public struct RelayWireError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The id of the request, if it was read.
  public var id: RelayRequestID?
  /// The kind of the question, if it was read.
  public var kind: HealthQuestion.Kind?
  /// The error in the message.
  public var fault: FieldFault

  /// Creates an error. `id` and `kind` are `nil` if they were not read before the fault.
  public init(_ fault: FieldFault, id: RelayRequestID? = nil, kind: HealthQuestion.Kind? = nil) {
    self.id = id
    self.kind = kind
    self.fault = fault
  }

  /// A short, human-readable description of the error.
  public var description: String { fault.description }
}

extension RelayWireError {
  /// Runs `body`, and adds the request's id and kind to an error that it throws.
  package static func about<Value>(
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
