import LinkCore
import LinkHealth
import LinkWire

/// What the ends of a relay write, told a second time.
enum RelayWireScribe {
  typealias Member = (name: String, value: SessionTree?)

  /// An object without the members that have no value.
  static func object(_ members: [Member]) -> SessionTree {
    .object(
      members.compactMap { member in
        member.value.map { SessionBranch(name: member.name, value: $0) }
      })
  }

  /// A value as it stands in bytes.
  static func raw(_ bytes: [UInt8]) -> SessionTree {
    .number(String(decoding: bytes, as: UTF8.self))
  }

  static func whole(_ number: Int) -> SessionTree { .number("\(number)") }

  static func text(_ text: String?) -> SessionTree? { text.map { .text($0) } }

  /// True, or nothing.
  private static func only(_ flag: Bool) -> SessionTree? { flag ? .flag(true) : nil }

  /// Whole seconds of a time that is not negative.
  private static func seconds(_ time: Duration) -> SessionTree {
    let isNegative = time < .zero
    return .number(isNegative ? "0" : "\(time.components.seconds)")
  }

  static func tree(_ message: BackendMessage) -> SessionTree {
    switch message {
    case .connectionCode(let code):
      return object([
        ("type", .text("connection_code")), ("code", .text(code.code)), ("word", .text(code.word)),
        ("message", .text(code.message)), ("expires_in", code.expiresIn.map(seconds)),
        ("resume_token", text(code.resumeToken)), ("resumed", only(code.resumed)),
        ("accepts_parts", only(code.acceptsParts)),
      ])
    case .question(let id, let question):
      return object([
        ("type", .text(RelayWireReading.words(question.kind)[0])), ("request_id", .text(id.text)),
        ("payload", raw(question.payload)),
      ])
    case .cancel(let id):
      return object([("type", .text("cancel_request")), ("request_id", .text(id.text))])
    case .unknown(let type, let id):
      return object([("type", .text(type)), ("request_id", text(id?.text))])
    }
  }

  static func id(of message: PhoneMessage) -> RelayRequestID? {
    switch message {
    case .healthData(let id, _): id
    case .summary(let id, _): id
    case .part(let id, _): id
    case .failure(let id, _): id
    case .unknown(_, let id): id
    }
  }

  static func members(_ message: PhoneMessage) -> [Member] {
    let id = text(id(of: message)?.text)
    switch message {
    case .healthData(_, let object):
      return [
        ("type", .text("health_data_response")), ("id", id), ("health_data", raw(object.bytes)),
      ]
    case .summary(_, let object):
      return [("type", .text("summary_response")), ("id", id), ("summary_data", raw(object.bytes))]
    case .part(_, let part):
      return [
        ("type", .text("answer_part")), ("id", id),
        ("kind", .text(RelayWireReading.words(part.kind)[2])), ("index", whole(part.index)),
        ("count", whole(part.count)), ("text", .text(part.text)),
      ]
    case .failure(_, let reason):
      return [("id", id), ("success", .flag(false)), ("error_message", .text(reason))]
    case .unknown(let type, _): return [("type", .text(type)), ("id", id)]
    }
  }

  static func tree(_ leased: LeasedQuestions) -> SessionTree {
    let requests = leased.questions.map { one in
      object([
        ("request_id", .text(one.id.text)),
        ("type", .text(RelayWireReading.words(one.question.kind)[0])),
        ("payload", raw(one.question.payload)), ("lease", .text(one.lease)),
      ])
    }
    return object([("requests", .list(requests)), ("lease_expires_in", seconds(leased.expiresIn))])
  }

  static func tree(_ result: LeasedResult) -> SessionTree {
    object(
      [("request_id", text(id(of: result.message)?.text)), ("lease", .text(result.lease))]
        + members(result.message))
  }

  static func tree(_ order: AssistantsOrder) -> SessionTree {
    switch order {
    case .list: .object([])
    case .end(let id): object([("end", .text(id))])
    case .endAll: object([("end", .text("all"))])
    }
  }

  static func tree(_ paired: PairedAssistants) -> SessionTree {
    func time(_ time: Timestamp?) -> SessionTree? { time.map { .text(RFC3339.format($0)) } }
    let all = paired.assistants.map { one in
      object([
        ("id", .text(one.id)), ("name", text(one.name?.name)), ("version", text(one.name?.version)),
        ("since", time(one.since)), ("last_question", time(one.lastQuestion)),
        ("expires_at", time(one.expiresAt)),
      ])
    }
    return object([
      ("success", .flag(true)), ("limit", whole(paired.limit)), ("assistants", .list(all)),
    ])
  }

  static func tree(_ address: PushAddress) -> SessionTree {
    let parts = RelayWireReading.parts(address)
    return object([
      ("kind", text(parts[0])), ("address", text(parts[1])), ("environment", text(parts[3])),
      ("topic", text(parts[2])),
    ])
  }

  /// The pieces of an object, so that no frame is longer than `limit`: around each piece go 584
  /// bytes, and a piece ends before a character that might not fit with three bytes more.
  static func pieces(_ bytes: [UInt8], _ limit: Int) -> [String] {
    let room = (limit < 1_024 ? 1_024 : limit) - 584
    var (pieces, piece, size): ([String], String, Int) = ([], "", 0)
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      let isEscaped = scalar.value < 32 || scalar == "\"" || scalar == "\\"
      if size + (isEscaped ? 5 : 4) > room {
        pieces.append(piece)
        (piece, size) = ("", 0)
      }
      piece.unicodeScalars.append(scalar)
      size += isEscaped ? 2 : String(scalar).utf8.count
    }
    return pieces + [piece]
  }
}
