import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// What a backend and its phones can say to each other, in forms that neither writes too.
struct RelayWireWalk: RelayWireForms {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many messages and bodies; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryBackend()
      tryPhone()
      tryPull()
      tryOrder()
      tryPaired()
      tryPush()
      tryToken()
    }
    return stray
  }

  // Messages.

  private mutating func tryBackend() {
    let message = backend()
    let tree = RelayWireScribe.tree(message)
    compare("a message of the backend", Self.text(message.bytes), tree.json)
    if case .connectionCode(let code) = message {
      let words = ["connection code"] + (code.resumed ? ["resumed"] : [])
      let all = words + (code.acceptsParts ? ["accepts parts"] : [])
      compare("a description", code.description, all.joined(separator: ", "))
    }
    for bytes in forms(tree) { tryBackend(bytes) }
    if happens(8) {
      let room = 65_536 - message.bytes.count + number(0...1)
      tryBackend(message.bytes + [UInt8](repeating: 32, count: max(0, room)))
    }
  }

  private mutating func tryBackend(_ bytes: [UInt8]) {
    compareBackend(
      Result { () throws(RelayWireError) in try BackendMessage.read(bytes) }, of: bytes)
  }

  private mutating func tryPhone() {
    let message = phone()
    let tree = RelayWireScribe.object(RelayWireScribe.members(message))
    compare("a message of a phone", Self.text(message.bytes), tree.json)
    compare("the id of a message", message.id, RelayWireScribe.id(of: message))
    for bytes in forms(tree) {
      let most = happens(6) ? bytes.count - number(0...1) : 8 << 20
      let found = Result { () throws(RelayWireError) in
        try PhoneMessage.read(bytes, maxBytes: most)
      }
      comparePhone(found, of: bytes, most)
    }
    let error = RelayWireError(
      one([.missing(field: "a"), .tooLong(bytes: 7)]), id: maybe(id()),
      kind: maybe(one([.healthData, .summary])))
    let reason = error.fault.description
    var refusal = PhoneMessage.failure(error.id, reason: reason)
    if let id = error.id, let kind = error.kind {
      refusal = RelayWireReading.answer(kind, id, HealthObject.failure(reason))
    }
    compare("a refusal", PhoneMessage.refusing(error), refusal)
    compare("an error", error.description, reason)
  }

  // Bodies.

  private mutating func tryPull() {
    let leased = LeasedQuestions(
      questions: (0..<number(0...2)).map { _ in
        LeasedQuestion(id: id(), question: question(), lease: one(["l", "\"", Self.long(128)]))
      }, expiresIn: .milliseconds(one([-1_500, -1, 0, 999, 1_000, 86_400_000])))
    let tree = RelayWireScribe.tree(leased)
    compare("leased questions", Self.text(leased.bytes), tree.json)
    for bytes in forms(tree) + [crowd("requests", 100, #","lease_expires_in":1"#)] {
      let found = Result { () throws(RelayWireError) in try LeasedQuestions.read(bytes) }
      compareLeased(found, of: bytes)
    }
    let result = LeasedResult(lease: one(["l", Self.long(128)]), message: phone())
    let body = RelayWireScribe.tree(result)
    compare("a result", Self.text(result.bytes), body.json)
    for bytes in forms(body) {
      let most = happens(6) ? bytes.count - number(0...1) : 8 << 20
      let found = Result { () throws(RelayWireError) in
        try LeasedResult.read(bytes, maxBytes: most)
      }
      compareResult(found, of: bytes, most)
    }
  }

  private mutating func tryOrder() {
    let order = LeaseOrder(max: number(0...101))
    let tree = RelayWireScribe.object([("max", RelayWireScribe.whole(order.max))])
    compare("an order", Self.text(order.bytes), tree.json)
    for bytes in forms(tree, 4) {
      let found = Result { () throws(RelayWireError) in try LeaseOrder.read(bytes) }
      compareOrder(found, of: bytes)
    }
    let ending: AssistantsOrder = one([.list, .endAll, .end("a"), .end(Self.long(64))])
    let other = RelayWireScribe.tree(ending)
    compare("an order of assistants", Self.text(ending.bytes), other.json)
    for bytes in forms(other, 4) {
      let found = Result { () throws(RelayWireError) in try AssistantsOrder.read(bytes) }
      compareEnding(found, of: bytes)
    }
  }

  private mutating func tryPaired() {
    let paired = PairedAssistants(
      limit: one([1, 8, 1_000_000]), assistants: (0..<number(0...2)).map { _ in assistant() })
    let tree = RelayWireScribe.tree(paired)
    compare("a list of assistants", Self.text(paired.bytes), tree.json)
    var all = forms(tree)
    if happens(9) { all.append(crowd("assistants", 1_000, #","limit":1"#)) }
    for bytes in all {
      let found = Result { () throws(RelayWireError) in try PairedAssistants.read(bytes) }
      comparePaired(found, of: bytes)
    }
  }

  private mutating func tryPush() {
    guard
      let apns = APNsAddress(
        token: one(["aB", "0123456789abcdef"]), topic: maybe("com.A-z.09"),
        environment: one([.production, .sandbox]))
    else { return compare("a push address", false, true) }
    let word = one(["w", "a~\"b", Self.long(1_024)])
    let address: PushAddress = happens(2) ? .apns(apns) : .hook(word)
    let tree = RelayWireScribe.tree(address)
    compare("a push address", Self.text(address.encode()), tree.json)
    for bytes in forms(tree, 9) {
      let found = Result { () throws(MessageError) in
        RelayWireReading.parts(try PushAddress.decode(bytes))
      }
      comparePush(found, of: bytes)
    }
  }

  private mutating func tryToken() {
    let token = one(Self.tokens)
    let topic = happens(3) ? nil : one(Self.topics)
    compareToken(APNsAddress(token: token, topic: topic), of: token, topic)
  }

  mutating func compareToken(_ found: APNsAddress?, of token: String, _ topic: String?) {
    let isGood = RelayWireReading.isToken(token) && (topic.map(RelayWireReading.isTopic) ?? true)
    compare(
      "the address \(token) of \(topic ?? "nothing")",
      [found?.token, found?.topic, found.map { RelayWireReading.word($0.environment) }],
      isGood ? [token.lowercased(), topic, "production"] : [nil, nil, nil])
  }

  /// A body whose list has as many empty objects as it may have, or one more.
  private mutating func crowd(_ name: String, _ most: Int, _ rest: String) -> [UInt8] {
    let all = [String](repeating: "{}", count: most + number(0...1)).joined(separator: ",")
    return Array("{\"\(name)\":[\(all)]\(rest)}".utf8)
  }
}
