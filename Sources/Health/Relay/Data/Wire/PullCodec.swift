import HoldfastHealth
import HoldfastJSON

extension LeaseRequest {
  /// The allowed numbers of questions in one request. The limit is Holdfast's own.
  public static let bounds = 1...100

  /// Decodes the body of the request. If `max` is missing, it is 1.
  ///
  /// - Throws: An error if the body is not a JSON object, or if `max` is out of bounds.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> LeaseRequest {
    let fields = JSONFields(bytes, keeping: ["max"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      return LeaseRequest(max: try fields.optionalInt("max", in: bounds) ?? 1)
    }
  }

  /// The body of the request.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 20)
    writer.beginObject()
    writer.entry("max", max)
    writer.endObject()
    return writer.bytes
  }
}

extension LeasedQuestions {
  /// Decodes the body of the response.
  ///
  /// A question that cannot be decoded is added to `rejected` if it has an id and a lease.
  ///
  /// - Throws: An error if the body, an id or a lease does not conform to the contract.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> LeasedQuestions {
    let fields = JSONFields(bytes, keeping: ["requests", "lease_expires_in"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      guard fields.has("requests") else { throw .missing(field: "requests") }
      let seconds = try fields.int("lease_expires_in", in: 0...86_400)
      var found = LeasedQuestions(questions: [], expiresIn: .seconds(seconds))
      for element in try fields.elements("requests", atMost: LeaseRequest.bounds.upperBound) {
        try found.take(element)
      }
      return found
    }
  }

  private mutating func take(_ element: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(element, keeping: ["type", "payload", "lease"] + JSONFields.idNames)
    guard fields.fault == nil else { throw .wrongType(field: "requests") }
    let lease = try fields.string("lease", atMost: LeasedResult.maxLeaseBytes)
    guard let id = try fields.requestID() else { throw .missing(field: "request_id") }
    let type = try? fields.optionalString("type")
    let kind = type.flatMap { HealthQuestion.Kind(\.request, $0) }
    do throws(FieldFault) {
      guard let kind else {
        let known = HealthQuestion.Kind.allCases.map(\.words.request)
        throw .unknownValue(field: "type", known: known)
      }
      let question = try HealthQuestion.read(kind, payload: fields.object("payload"))
      questions.append(LeasedQuestion(id: id, question: question, lease: lease))
    } catch {
      let error = RelayWireError(error, id: id, kind: kind)
      rejected.append(Rejected(lease: lease, error: error))
    }
  }

  /// The encoded body of the response, without the rejected questions.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 100 + 300 * questions.count)
    writer.beginObject()
    writer.key("requests")
    writer.beginArray()
    for leased in questions {
      writer.beginObject()
      writer.entry("request_id", leased.id.text)
      writer.entry("type", leased.question.kind.words.request)
      writer.key("payload")
      writer.raw(leased.question.payload)
      writer.entry("lease", leased.lease)
      writer.endObject()
    }
    writer.endArray()
    writer.entry("lease_expires_in", max(0, expiresIn.components.seconds))
    writer.endObject()
    return writer.bytes
  }
}

extension LeasedResult {
  /// The maximum length of a lease, in bytes. The limit is Holdfast's own.
  public static let maxLeaseBytes = 128

  /// Decodes the body. It contains `lease` and the members of an answer on the socket.
  ///
  /// - Throws: An error that contains the request's id if the id could be read.
  public static func read(
    _ bytes: [UInt8], maxBytes: Int = PhoneMessage.maxBytes
  ) throws(RelayWireError) -> LeasedResult {
    let message = try PhoneMessage.read(bytes, maxBytes: maxBytes)
    let fields = JSONFields(bytes, keeping: ["lease"])
    let lease = try RelayWireError.about(message.id) { () throws(FieldFault) in
      guard message.id != nil else { throw .missing(field: "request_id") }
      return try fields.string("lease", atMost: maxLeaseBytes)
    }
    return LeasedResult(lease: lease, message: message)
  }

  /// The body of the request.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 500)
    writer.beginObject()
    if let id = message.id {
      writer.entry("request_id", id.text)
    }
    writer.entry("lease", lease)
    message.writeMembers(to: &writer)
    writer.endObject()
    return writer.bytes
  }
}
