import HoldfastHealth
import HoldfastJSON

extension BackendMessage {
  /// The maximum size of a message, in bytes. The limit is Holdfast's own. The largest summary
  /// needs a tenth of it.
  public static let maxBytes = 65_536

  /// Reads a text frame. Unknown members are ignored.
  ///
  /// The id is taken from `request_id`, `requestId` or `id`, in this order. A thrown error contains
  /// the id and the kind of question, if those could be read.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> BackendMessage {
    guard bytes.count <= maxBytes else { throw RelayWireError(.tooLong(bytes: bytes.count)) }
    let fields = JSONFields(bytes, keeping: ["type", "payload"] + codeNames + JSONFields.idNames)
    let type = try? fields.optionalString("type")
    let kind = type.flatMap { HealthQuestion.Kind(\.request, $0) }
    let id = try RelayWireError.about(nil, kind) { () throws(FieldFault) in
      try fields.requestID()
    }
    return try RelayWireError.about(id, kind) { () throws(FieldFault) in
      try fields.check()
      let type = try fields.string("type", atMost: maxTypeBytes)
      if let kind {
        guard let id else { throw .missing(field: "request_id") }
        return .question(id, try HealthQuestion.read(kind, payload: fields.object("payload")))
      }
      switch type {
      case connectionCodeType: return .connectionCode(try ConnectionCode(fields))
      case cancelType:
        guard let id else { throw .missing(field: "request_id") }
        return .cancel(id)
      case _: return .unknown(type: type, id: id)
      }
    }
  }

  /// The message as a text frame.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 300)
    writer.beginObject()
    writer.key("type")
    switch self {
    case .connectionCode(let code):
      writer.string(Self.connectionCodeType)
      code.write(to: &writer)
    case .question(let id, let question):
      writer.string(question.kind.words.request)
      writer.entry("request_id", id.text)
      writer.key("payload")
      writer.raw(question.payload)
    case .cancel(let id):
      writer.string(Self.cancelType)
      writer.entry("request_id", id.text)
    case .unknown(let type, let id):
      writer.string(type)
      if let id {
        writer.entry("request_id", id.text)
      }
    }
    writer.endObject()
    return writer.bytes
  }

  /// The maximum size of a message's type, in bytes. The limit is Holdfast's own.
  static let maxTypeBytes = 64
  private static let connectionCodeType = "connection_code"
  private static let cancelType = "cancel_request"
  private static let codeNames = [
    "code", "word", "message", "expires_in", "resume_token", "resumed", "accepts_parts",
    "new_assistants",
  ]
}

extension ConnectionCode {
  /// The maximum size of the code and of the word, in bytes. This limit and the next two are
  /// Holdfast's own.
  private static let maxWordBytes = 64
  private static let maxMessageBytes = 4_096
  private static let maxTokenBytes = 512

  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    let token =
      fields.has("resume_token")
      ? try fields.string("resume_token", atMost: Self.maxTokenBytes) : nil
    let message = try fields.optionalString("message") ?? ""
    guard message.utf8.count <= Self.maxMessageBytes else { throw .outOfBounds(field: "message") }
    self.init(
      code: try fields.string("code", atMost: Self.maxWordBytes),
      word: try fields.string("word", atMost: Self.maxWordBytes), message: message,
      expiresIn: try fields.optionalInt("expires_in", in: 0...Self.longest).map {
        Duration.seconds($0)
      },
      resumeToken: token, resumed: try fields.optionalBool("resumed") ?? false,
      acceptsParts: try fields.optionalBool("accepts_parts") ?? false,
      newAssistants: try PairedAssistants.Assistant.list("new_assistants", fields))
  }

  /// The maximum lifetime of a code: a year, in seconds. The limit is Holdfast's own.
  private static let longest = 31_536_000

  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("code", code)
    writer.entry("word", word)
    writer.entry("message", message)
    if let expiresIn {
      writer.entry("expires_in", max(0, expiresIn.components.seconds))
    }
    if let resumeToken {
      writer.entry("resume_token", resumeToken)
    }
    if resumed {
      writer.entry("resumed", true)
    }
    if acceptsParts {
      writer.entry("accepts_parts", true)
    }
    if !newAssistants.isEmpty {
      writer.key("new_assistants")
      PairedAssistants.Assistant.write(newAssistants, to: &writer)
    }
  }
}
