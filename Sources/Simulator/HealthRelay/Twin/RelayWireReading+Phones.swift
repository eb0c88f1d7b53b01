import LinkCore
import LinkJSON
import LinkWire

// How pairings and push addresses are read, told a second time.
extension RelayWireReading {
  static func ending(_ bytes: [UInt8]) throws(RelayWireError) -> AssistantsOrder {
    let fields = RelayWireFields(bytes)
    do throws(FieldFault) {
      try fields.check()
      if !fields.has("end") { return .list }
      let id = try fields.word("end", upTo: 64)
      return id == "all" ? .endAll : .end(id)
    } catch {
      throw RelayWireError(error)
    }
  }

  static func paired(_ bytes: [UInt8]) throws(RelayWireError) -> PairedAssistants {
    let fields = RelayWireFields(bytes)
    do throws(FieldFault) {
      try fields.check()
      let limit = try fields.mustNumber("limit", from: 1, to: 1_000_000)
      var all: [PairedAssistants.Assistant] = []
      for element in try fields.list("assistants", upTo: 1_000) {
        all.append(try assistant(element))
      }
      return PairedAssistants(limit: limit, assistants: all)
    } catch {
      throw RelayWireError(error)
    }
  }

  private static func assistant(
    _ bytes: [UInt8]
  ) throws(FieldFault) -> PairedAssistants.Assistant {
    let fields = RelayWireFields(bytes)
    try fields.check()
    let id = try fields.word("id", upTo: 64)
    var texts: [String?] = []
    for name in ["name", "version"] {
      let text = try fields.text(name)
      if let text, text.utf8.count > 1_024 { throw .outOfBounds(field: name) }
      texts.append(text)
    }
    var times: [Timestamp?] = []
    for name in ["since", "last_question", "expires_at"] {
      let time = try fields.text(name).map { RFC3339.parse($0) }
      if case .some(.none) = time { throw .wrongType(field: name) }
      times.append(time ?? nil)
    }
    guard let end = times[2] else { throw .missing(field: "expires_at") }
    return PairedAssistants.Assistant(
      id: id, name: AssistantName(texts[0], version: texts[1]), since: times[0],
      lastQuestion: times[1], expiresAt: end)
  }

  // Push addresses.

  /// Whether a device token of Apple can be one: pairs of digits.
  static func isToken(_ token: String) -> Bool {
    let digits = Array("0123456789abcdefABCDEF".utf8)
    let isHex = token.utf8.allSatisfy { digits.contains($0) }
    return isHex && token.utf8.count % 2 == 0 && token.utf8.count > 0 && token.utf8.count < 201
  }

  static func isTopic(_ topic: String) -> Bool {
    let letters = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.".utf8)
    return topic.utf8.allSatisfy { letters.contains($0) } && topic != "" && topic.utf8.count < 256
  }

  /// The parts of an address: its kind, its word in lower case where it is a token, topic, service.
  static func push(_ bytes: [UInt8]) throws(MessageError) -> [String?] {
    guard case .object(let members)? = SessionTree(bytes) else { throw .malformed(detail: "") }
    func text(_ name: String) -> String? {
      guard case .text(let text)? = members.last(where: { $0.name == name })?.value else {
        return nil
      }
      return text
    }
    guard let kind = text("kind") else { throw .missing(field: "kind") }
    guard let address = text("address") else { throw .missing(field: "address") }
    if kind == "hook" {
      let isPlain = address.utf8.allSatisfy { $0 > 31 && $0 != 127 }
      guard isPlain, address != "", address.utf8.count < 1_025 else {
        throw .badIdentifier(field: "address")
      }
      return [kind, address, nil, nil]
    }
    guard kind == "apns" else { throw .malformed(detail: "kind is neither apns nor hook") }
    let service = text("environment") ?? "production"
    guard ["production", "sandbox"].contains(service) else {
      throw .malformed(detail: "environment is no service of Apple's")
    }
    guard isToken(address), isTopic(text("topic") ?? "a") else {
      throw .badIdentifier(field: "address")
    }
    return [kind, address.lowercased(), text("topic"), service]
  }

  static func parts(_ address: PushAddress) -> [String?] {
    switch address {
    case .hook(let word): ["hook", word, nil, nil]
    case .apns(let apns): ["apns", apns.token, apns.topic, word(apns.environment)]
    }
  }

  static func word(_ environment: APNsAddress.Environment) -> String {
    switch environment {
    case .production: "production"
    case .sandbox: "sandbox"
    }
  }
}
