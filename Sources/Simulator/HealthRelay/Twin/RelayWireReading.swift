import LinkHealth
import LinkJSON
import LinkWire

/// How the ends of a relay read what comes, told a second time (`docs/seeds`, contract 1.7).
enum RelayWireReading {
  typealias Kind = HealthQuestion.Kind

  /// The words of a kind: of the question, of the answer, and of the member that holds it.
  static func words(_ kind: Kind) -> [String] {
    switch kind {
    case .healthData: ["health_data_request", "health_data_response", "health_data"]
    case .summary: ["summary_request", "summary_response", "summary_data"]
    }
  }

  private static func kind(_ fields: RelayWireFields, _ place: Int) -> Kind? {
    guard let type = try? fields.text("type") else { return nil }
    for kind in [Kind.healthData, .summary] where words(kind)[place] == type { return kind }
    return nil
  }

  private static func told<Value>(
    _ id: RelayRequestID?, _ kind: Kind?, _ body: () throws(FieldFault) -> Value
  ) throws(RelayWireError) -> Value {
    do throws(FieldFault) {
      return try body()
    } catch {
      throw RelayWireError(error, id: id, kind: kind)
    }
  }

  private static func requestID(_ fields: RelayWireFields) throws(FieldFault) -> RelayRequestID? {
    for name in ["request_id", "requestId", "id"] {
      guard let text = try fields.text(name), text != "" else { continue }
      guard text.utf8.count < 65, let id = RelayRequestID(text) else {
        throw .outOfBounds(field: name)
      }
      return id
    }
    return nil
  }

  // What a backend says.

  static func backend(_ bytes: [UInt8]) throws(RelayWireError) -> BackendMessage {
    if bytes.count > 64 * 1_024 { throw RelayWireError(.tooLong(bytes: bytes.count)) }
    let fields = RelayWireFields(bytes)
    let kind = kind(fields, 0)
    let id = try told(nil, kind) { () throws(FieldFault) in try requestID(fields) }
    return try told(id, kind) { () throws(FieldFault) in
      try fields.check()
      let type = try fields.word("type", upTo: 64)
      if type == "connection_code" { return .connectionCode(try code(fields)) }
      guard kind != nil || type == "cancel_request" else { return .unknown(type: type, id: id) }
      guard let id else { throw .missing(field: "request_id") }
      guard let kind else { return .cancel(id) }
      return .question(id, try HealthQuestion.read(kind, payload: fields.object("payload")))
    }
  }

  private static func code(_ fields: RelayWireFields) throws(FieldFault) -> ConnectionCode {
    var token: String?
    if fields.has("resume_token") { token = try fields.word("resume_token", upTo: 512) }
    let message = try fields.text("message") ?? ""
    if message.utf8.count > 4_096 { throw .outOfBounds(field: "message") }
    let (code, word) = (try fields.word("code", upTo: 64), try fields.word("word", upTo: 64))
    let year = 365 * 24 * 60 * 60
    let seconds = try fields.number("expires_in", from: 0, to: year)
    let resumed = try fields.flag("resumed") == true
    let parts = try fields.flag("accepts_parts") == true
    return ConnectionCode(
      code: code, word: word, message: message, expiresIn: seconds.map { .seconds($0) },
      resumeToken: token, resumed: resumed, acceptsParts: parts)
  }

  // What a phone says.

  static func phone(_ bytes: [UInt8], upTo most: Int) throws(RelayWireError) -> PhoneMessage {
    if bytes.count > most { throw RelayWireError(.tooLong(bytes: bytes.count)) }
    let fields = RelayWireFields(bytes)
    let kind = kind(fields, 1)
    let id = try told(nil, kind) { () throws(FieldFault) in try requestID(fields) }
    return try told(id, kind) { () throws(FieldFault) in
      try fields.check()
      guard fields.has("type") else { return try failure(fields, id) }
      let type = try fields.word("type", upTo: 64)
      guard kind != nil || type == "answer_part" else { return .unknown(type: type, id: id) }
      guard let id else { throw .missing(field: "id") }
      guard let kind else { return .part(id, try part(fields)) }
      return answer(kind, id, try object(try fields.object(words(kind)[2])))
    }
  }

  static func answer(_ kind: Kind, _ id: RelayRequestID, _ object: HealthObject) -> PhoneMessage {
    switch kind {
    case .healthData: .healthData(id, object)
    case .summary: .summary(id, object)
    }
  }

  private static func failure(
    _ fields: RelayWireFields, _ id: RelayRequestID?
  ) throws(FieldFault) -> PhoneMessage {
    if let reason = try fields.text("error_message") {
      var short = ""
      short.unicodeScalars.append(contentsOf: reason.unicodeScalars.prefix(1_000))
      return .failure(id, reason: short)
    }
    guard try fields.flag("success") == false else { throw .missing(field: "type") }
    return .failure(id, reason: "")
  }

  static func object(_ bytes: [UInt8]) throws(FieldFault) -> HealthObject {
    let fields = RelayWireFields(bytes)
    try fields.check()
    guard let succeeded = try fields.flag("success") else { throw .missing(field: "success") }
    return HealthObject(succeeded: succeeded, bytes: bytes)
  }

  private static func part(_ fields: RelayWireFields) throws(FieldFault) -> HealthPart {
    guard let word = try fields.text("kind") else { throw .missing(field: "kind") }
    let kinds: [String: Kind] = ["health_data": .healthData, "summary_data": .summary]
    guard let kind = kinds[word] else {
      throw .unknownWord(field: "kind", known: ["health_data", "summary_data"])
    }
    let most = 8 * 1_024 * 1_024
    let count = try fields.mustNumber("count", from: 1, to: most)
    let index = try fields.mustNumber("index", from: 0, to: count - 1)
    return HealthPart(
      kind: kind, index: index, count: count, text: try fields.word("text", upTo: most))
  }

  // What a phone that was woken asks for.

  static func order(_ bytes: [UInt8]) throws(RelayWireError) -> LeaseOrder {
    let fields = RelayWireFields(bytes)
    return try told(nil, nil) { () throws(FieldFault) in
      try fields.check()
      return LeaseOrder(max: try fields.number("max", from: 1, to: 100) ?? 1)
    }
  }

  static func leased(_ bytes: [UInt8]) throws(RelayWireError) -> LeasedQuestions {
    let fields = RelayWireFields(bytes)
    return try told(nil, nil) { () throws(FieldFault) in
      try fields.check()
      guard fields.has("requests") else { throw .missing(field: "requests") }
      let time = try fields.mustNumber("lease_expires_in", from: 0, to: 24 * 60 * 60)
      var all = LeasedQuestions(questions: [], expiresIn: .seconds(time))
      for element in try fields.list("requests", upTo: 100) { try add(element, to: &all) }
      return all
    }
  }

  private static func add(_ element: [UInt8], to all: inout LeasedQuestions) throws(FieldFault) {
    let fields = RelayWireFields(element)
    if fields.fault != nil { throw .wrongType(field: "requests") }
    let lease = try fields.word("lease", upTo: 128)
    guard let id = try requestID(fields) else { throw .missing(field: "request_id") }
    let kind = kind(fields, 0)
    do throws(FieldFault) {
      guard let kind else {
        throw .unknownWord(field: "type", known: ["health_data_request", "summary_request"])
      }
      let question = try HealthQuestion.read(kind, payload: fields.object("payload"))
      all.questions.append(LeasedQuestion(id: id, question: question, lease: lease))
    } catch {
      let error = RelayWireError(error, id: id, kind: kind)
      all.rejected.append(LeasedQuestions.Rejected(lease: lease, error: error))
    }
  }

  static func result(_ bytes: [UInt8], upTo most: Int) throws(RelayWireError) -> LeasedResult {
    let message = try phone(bytes, upTo: most)
    let fields = RelayWireFields(bytes)
    let id = RelayWireScribe.id(of: message)
    let lease = try told(id, nil) { () throws(FieldFault) in
      if id == nil { throw .missing(field: "request_id") }
      return try fields.word("lease", upTo: 128)
    }
    return LeasedResult(lease: lease, message: message)
  }
}
