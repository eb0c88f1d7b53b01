import LinkCore

/// Values in the form that journals keep, written and read a second time.
struct CodedWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  private static let presets = LinkPolicy.presets

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many values; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryNumbers()
      tryTexts()
      tryMessage()
      tryPolicy()
    }
    return stray
  }

  /// Compares a value's form, and what is read of another form; `nil` for what cannot be read.
  mutating func compare<Value: Codable & Equatable>(
    _ value: Value, is tree: CodedTree, _ readings: [(CodedTree, Value?)]
  ) {
    compare("the form of \(value)", try? CodedTree.written(value), tree)
    for (form, must) in readings {
      compare("\(form), read as \(Value.self),", try? form.read(Value.self), must)
    }
  }

  private mutating func tryNumbers() {
    let number = Int64(truncatingIfNeeded: chance.next())
    let (tree, odd) = (CodedTree.whole(Int128(number)), CodedTree.text("1"))
    let instant = Instant(nanoseconds: number)
    compare(instant, is: tree, [(tree, instant), (odd, nil), (.parts([:]), nil)])
    let stamp = Timestamp(nanoseconds: number)
    compare(stamp, is: tree, [(tree, stamp), (odd, nil)])
    let civil = CivilTime(nanoseconds: number)
    compare(civil, is: tree, [(tree, civil), (odd, nil)])
    let id = chance.next()
    let name = CodedTree.whole(Int128(id))
    compare(AttemptID(id), is: name, [(name, AttemptID(id)), (.whole(-1), nil), (odd, nil)])
    compare(ConnectionID(id), is: name, [(name, ConnectionID(id)), (odd, nil)])
    compare(RequestID(id), is: name, [(name, RequestID(id)), (odd, nil)])
    let other = id &+ UInt64(self.number(0...2)) &- 1
    compare("the order of \(id) and \(other)", AttemptID(id) < AttemptID(other), id < other)
  }

  private mutating func tryTexts() {
    let word = one(["", "en0 10.0.0.1", "é"])
    compare(PathID(word), is: .text(word), [(.text(word), PathID(word)), (.whole(1), nil)])
    let secret = Secret(word)
    compare(secret, is: .text(""), [(.text(word), Secret("")), (.whole(1), nil)])
    compare("the description of a secret", "\(secret)", "[secret]")
    compare("a secret", secret.text, word)
    let id = UUID128(high: chance.next(), low: chance.next())
    let text = "\(id)"
    let short = CodedTree.text(String(text.dropLast()))
    compare(
      id, is: .text(text),
      [(.text(text), id), (.text(text.uppercased()), id), (short, nil), (.whole(1), nil)])
  }

  private mutating func tryMessage() {
    let bytes = (0..<number(0...3)).map { _ in UInt8(0x61) }
    let isText = happens(2)
    let message = isText ? SocketMessage(text: bytes) : SocketMessage(binary: bytes)
    compare("the bytes of a message", message.bytes, bytes)
    compare(
      "the text of a message", message.text, isText ? String(decoding: bytes, as: UTF8.self) : nil)
    compare("the message of a text", SocketMessage.text("aä"), SocketMessage(text: [97, 195, 164]))
    let size = one([0, 1, 4_294_967_295, 4_294_967_296, -1]) as Int128
    let form = CodedTree.parts(["text": .flag(isText), "bytes": .whole(size)])
    compareMessage(try? form.read(SocketMessage.self), size, isText: isText)
    compare(
      message, is: .parts(["text": .flag(isText), "bytes": .whole(Int128(bytes.count))]),
      [(.parts(["text": .flag(true)]), nil), (.parts(["bytes": .whole(1)]), nil)])
  }

  /// Compares what is read of a form that says how long a message is.
  mutating func compareMessage(_ read: SocketMessage?, _ size: Int128, isText: Bool) {
    let what = "a message of \(size) bytes"
    let isCount = size >= 0 && size < 4_294_967_296
    compare("whether there is \(what)", read != nil, isCount)
    compare("the size of \(what)", read?.count, isCount ? Int(size) : nil)
    compare("whether \(what) is a text", read?.isText, isCount ? isText : nil)
    compare(
      "the content of \(what)", read.map { $0.bytes == nil && $0.text == nil }, isCount ? true : nil
    )
  }

  private mutating func tryPolicy() {
    let policy = one(Self.presets)
    let sheet = PolicySheet(policy)
    var parts: [String: CodedTree] = ["preset": .text(policy.name)]
    for key in PolicySheetKey.all { parts[key.name] = sheet.value(key).map { .text($0) } }
    compare("the form of \(policy.name)", try? CodedTree.written(policy), .parts(parts))
    // What a person leaves out is as the preset has it.
    var few: [String: CodedTree] = ["preset": .text(policy.name)]
    for _ in 0..<number(0...4) {
      let key = one(PolicySheetKey.all).name
      few[key] = one([
        parts[key] ?? .text("1s"), parts[key] ?? .text("1s"), .text("5s"), .text("x"),
      ])
    }
    // The time to the milestone moves the one of the transport, which is read behind it.
    if happens(3) {
      few["establish.timeout"] = .text("4s")
      few["establish.openTimeout"] = .text("3s")
    }
    if happens(9) { few[one(["odd", "a.odd", "preset"])] = .text("odd") }
    if happens(9) { few["preset"] = nil }
    comparePolicy(try? CodedTree.parts(few).read(LinkPolicy.self), of: few)
    if happens(3) {
      compare(
        "the form of \(policy.name), read,", try? CodedTree.parts(parts).read(LinkPolicy.self),
        policy)
    }
  }

  mutating func comparePolicy(_ found: LinkPolicy?, of form: [String: CodedTree]) {
    compare("\(form), read,", found, Self.policy(form))
  }

  /// The preset that a form names, with the numbers of the form.
  private static func policy(_ form: [String: CodedTree]) -> LinkPolicy? {
    guard case .text(let name)? = form["preset"],
      let preset = presets.first(where: { $0.name == name })
    else { return nil }
    var sheet = PolicySheet(preset)
    let known = PolicySheetKey.all.map { $0.name }.filter { form[$0] != nil }
    guard known.count == form.count - 1 else { return nil }
    for key in known {
      guard case .text(let text)? = form[key], sheet.change(key, to: text) == nil else {
        return nil
      }
    }
    return try? sheet.made()
  }
}
