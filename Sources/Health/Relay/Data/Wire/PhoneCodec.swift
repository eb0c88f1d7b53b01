public import HoldfastHealth
import HoldfastJSON

extension PhoneMessage {
  /// The maximum size of a message, in bytes. The limit is Holdfast's own. Plain phones do not
  /// split long answers.
  public static let maxBytes = 8 << 20

  /// Reads a text frame. Unknown members are ignored. The object of an answer is not validated.
  ///
  /// A message that reports an error and has no type is a failure. Plain phones send failures in
  /// this form. A thrown error contains the id and the kind of answer, if those could be read.
  public static func read(
    _ bytes: [UInt8], maxBytes: Int = PhoneMessage.maxBytes
  ) throws(RelayWireError) -> PhoneMessage {
    guard bytes.count <= maxBytes else { throw RelayWireError(.tooLong(bytes: bytes.count)) }
    let fields = JSONFields(bytes, keeping: names)
    let kind = (try? fields.optionalString("type")).flatMap { HealthQuestion.Kind(\.reply, $0) }
    let id = try RelayWireError.about(nil, kind) { () throws(FieldFault) in
      try fields.requestID()
    }
    return try RelayWireError.about(id, kind) { () throws(FieldFault) in
      try fields.check()
      return try read(fields, id: id, kind: kind)
    }
  }

  private static func read(
    _ fields: JSONFields, id: RelayRequestID?, kind: HealthQuestion.Kind?
  ) throws(FieldFault) -> PhoneMessage {
    guard fields.has("type") else {
      if let reason = try fields.optionalString("error_message") {
        return .failure(id, reason: reason.bounded)
      }
      if try fields.optionalBool("success") == false { return .failure(id, reason: "") }
      throw .missing(field: "type")
    }
    let type = try fields.string("type", atMost: BackendMessage.maxTypeBytes)
    if let kind {
      guard let id else { throw .missing(field: "id") }
      return answer(kind, id, try HealthObject(reading: fields.object(kind.words.object)))
    }
    guard type == partType else { return .unknown(type: type, id: id) }
    guard let id else { throw .missing(field: "id") }
    return .part(id, try HealthPart(fields))
  }

  /// The message as a text frame.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
    return writer.bytes
  }

  func writeMembers(to writer: inout JSONWriter) {
    switch self {
    case .healthData, .summary, .types:
      guard let answer else { return }
      writer.head(answer.kind.words.reply, answer.id)
      writer.key(answer.kind.words.object)
      writer.raw(answer.object.bytes)
    case .part(let id, let part):
      writer.head(Self.partType, id)
      part.writeMembers(to: &writer)
    case .failure(let id, let reason):
      writer.head(nil, id)
      writer.failure(reason)
    case .unknown(let type, let id): writer.head(type, id)
    }
  }

  /// The id of the request that the message answers, if there is one.
  public var id: RelayRequestID? {
    switch self {
    case .healthData, .summary, .types: answer?.id
    case .part(let id, _): id
    case .failure(let id, _), .unknown(_, let id): id
    }
  }

  private var capacity: Int {
    switch self {
    case .healthData, .summary, .types: (answer?.object.bytes.count ?? 0) + 200
    case .part(_, let part): part.text.utf8.count * 5 / 4 + 200
    case .failure, .unknown: 300
    }
  }

  static let partType = "answer_part"
  private static let names =
    ["type", "success", "error_message"] + HealthQuestion.Kind.allCases.map(\.words.object)
    + HealthPart.names
    + JSONFields.idNames
}

extension PhoneMessage {
  /// The complete answer to a question; `nil` for any other message.
  package var answer: (kind: HealthQuestion.Kind, id: RelayRequestID, object: HealthObject)? {
    switch self {
    case .healthData(let id, let object): (.healthData, id, object)
    case .summary(let id, let object): (.summary, id, object)
    case .types(let id, let object): (.types, id, object)
    case .part, .failure, .unknown: nil
    }
  }

  /// Returns the answer to a question of this kind.
  public static func answer(
    _ kind: HealthQuestion.Kind, _ id: RelayRequestID, _ object: HealthObject
  ) -> PhoneMessage {
    switch kind {
    case .healthData: .healthData(id, object)
    case .summary: .summary(id, object)
    case .types: .types(id, object)
    }
  }

  /// Returns the answer to a message that could not be read. It contains the message's id if there
  /// was one.
  public static func refusing(_ error: RelayWireError) -> PhoneMessage {
    guard let id = error.id, let kind = error.kind else {
      return .failure(error.id, reason: error.description)
    }
    return answer(kind, id, .failure(error.description))
  }
}

extension JSONWriter {
  fileprivate mutating func head(_ type: String?, _ id: RelayRequestID?) {
    if let type {
      entry("type", type)
    }
    if let id {
      entry("id", id.text)
    }
  }
}

/// A message from a phone to the backend.
public enum PhoneMessage: Sendable, Hashable, Codable {
  /// The answer to a query for samples.
  case healthData(RelayRequestID, HealthObject)
  /// The answer to a query for a summary.
  case summary(RelayRequestID, HealthObject)
  /// The answer to a question about the stored types. Plain phones do not send it.
  case types(RelayRequestID, HealthObject)
  /// A part of an answer that is too long for one frame. Plain phones do not send it.
  case part(RelayRequestID, HealthPart)
  /// A failure to read or answer a message. The id is `nil` only if none could be read.
  case failure(RelayRequestID?, reason: String)
  /// A message whose `type` is unknown to this version.
  case unknown(type: String, id: RelayRequestID?)
}

/// A part of a health object. An object can be split between any two of its characters.
public struct HealthPart: Sendable, Hashable, Codable {
  /// The kind of the complete answer.
  public var kind: HealthQuestion.Kind
  /// The index of the part, from 0.
  public var index: Int
  /// The number of parts, at least 1.
  public var count: Int
  /// The text of the part. The texts of all parts, joined in order, are the JSON object.
  public var text: String

  /// Creates a part without validation.
  public init(kind: HealthQuestion.Kind, index: Int, count: Int, text: String) {
    self.kind = kind
    self.index = index
    self.count = count
    self.text = text
  }
}
