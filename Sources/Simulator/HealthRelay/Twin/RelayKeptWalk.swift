import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// What a relay keeps, and the pieces of its answers, told a second time.
struct RelayKeptWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many lists, names and answers; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryKept()
      for _ in 0..<4 { tryName() }
      tryIDs()
      tryAssembly()
      if happens(2) { tryFrames() }
    }
    return stray
  }

  // What is kept.

  private mutating func tryKept() {
    var kept = RelayKept()
    var must = RelayKept()
    for _ in 0..<14 {
      guard let change = change() else { return compare("a hash of 32 bytes", false, true) }
      compareKept(&kept, &must, after: change)
    }
  }

  /// Makes a change in what is kept and in what must be.
  mutating func compareKept(
    _ kept: inout RelayKept, _ must: inout RelayKept, after change: RelayChange
  ) {
    kept.apply(change)
    Self.apply(change, to: &must)
    compare("what is kept after \(change)", kept, must)
  }

  /// Makes a change in lists that are then sorted anew.
  static func apply(_ change: RelayChange, to kept: inout RelayKept) {
    switch change {
    case .phone(let phone):
      kept.phones = kept.phones.filter { $0.id != phone.id } + [phone]
      kept.phones.sort { before(digits($0.id), digits($1.id)) }
    case .endPhone(let id):
      kept.phones = kept.phones.filter { $0.id != id }
      kept.questions = kept.questions.filter { $0.phone != id }
    case .access(let access):
      kept.accesses = kept.accesses.filter { $0.token != access.token } + [access]
      kept.accesses.sort { before($0.token.bytes, $1.token.bytes) }
    case .endAccess(let token): kept.accesses = kept.accesses.filter { $0.token != token }
    case .question(let question):
      let isNew = !kept.questions.contains { $0.id == question.id }
      kept.questions = kept.questions.map { $0.id == question.id ? question : $0 }
      if isNew { kept.questions.append(question) }
    case .endQuestion(let id): kept.questions = kept.questions.filter { $0.id != id }
    }
  }

  private static func digits(_ id: PhoneID) -> [UInt8] { Array(id.uuid.description.utf8) }

  /// Whether digits come before others of the same number.
  private static func before(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    for (one, other) in zip(left, right) where one != other { return one < other }
    return false
  }

  private mutating func phone() -> PhoneID {
    PhoneID(UUID128(high: UInt64(number(0...1)), low: UInt64(number(0...2))))
  }

  private mutating func hash() -> TokenHash? {
    var bytes = [UInt8](repeating: 7, count: 32)
    bytes[one([0, 31])] = one([0, 7, 255])
    return TokenHash(bytes)
  }

  private mutating func change() -> RelayChange? {
    let time = Timestamp(nanoseconds: Int64(number(0...9)))
    guard let hash = hash(), let id = RelayRequestID(one(["a", "b", "c"])) else { return nil }
    let query = SummaryQuery(
      start: .instant(time, minutesEast: nil), end: .instant(time, minutesEast: nil))
    return one([
      .phone(
        KeptPhone(
          id: phone(), device: UUID128(high: 0, low: 1), resume: hash,
          push: happens(2) ? .hook("w") : nil, leftAt: happens(2) ? time : nil)),
      .endPhone(phone()),
      .access(
        KeptAccess(
          token: hash, phone: phone(), expiresAt: time, assistant: AssistantName("a"),
          since: happens(2) ? time : nil, lastAsked: happens(2) ? time : nil)),
      .endAccess(hash),
      .question(
        KeptQuestion(
          id: id, phone: phone(), asker: hash, question: .summary(query), deadline: time)),
      .endQuestion(id), .access(KeptAccess(token: hash, phone: phone(), expiresAt: time)),
      .phone(KeptPhone(id: phone(), device: UUID128(high: 0, low: 2), resume: hash)),
    ])
  }

  // Names.

  private static let kept = [
    "A", "a", "\u{1C5}", "\u{2B0}", "\u{5D0}", "e\u{301}", "\u{903}", "\u{20DD}", "7", "\u{2160}",
    "\u{BD}", "_", "-", "(", ")", "\u{AB}", "\u{BB}", "!", "+", "$", "^", "\u{A9}", " ", "\u{A0}",
    "😀",
  ]
  private static let dropped = [
    "\u{7}", "\n", "\u{7F}", "\u{200D}", "\u{202E}", "\u{2028}", "\u{2029}", "\u{E000}",
    "\u{378}",
  ]

  /// A text in pieces of which some are dropped, and what remains of it.
  private mutating func words() -> (String, String?) {
    var (given, rest) = ("", "")
    for _ in 0..<one([0, 1, 2, 3, 63, 64, 65]) {
      if happens(5) {
        given += one(Self.dropped)
      } else {
        let piece = happens(3) ? " " : one(Self.kept)
        given += piece
        for scalar in piece.unicodeScalars where rest.unicodeScalars.count < 64 {
          rest.unicodeScalars.append(scalar)
        }
      }
    }
    let isBlank = rest.unicodeScalars.allSatisfy { $0 == " " }
    return (given, isBlank ? nil : rest)
  }

  private mutating func tryName() {
    let ((name, plain), (version, plainVersion)) = (words(), words())
    let isVersioned = happens(2)
    let found = AssistantName(name, version: isVersioned ? version : nil)
    let told = plain == nil || !isVersioned ? nil : plainVersion
    compareName(found, plain, told, of: [name, version])
    compare("no name", AssistantName(nil, version: "1") == nil, true)
  }

  /// Compares what a client's words become with the name and the version that they must be.
  mutating func compareName(
    _ found: AssistantName?, _ name: String?, _ version: String?, of words: [String]
  ) {
    let given = words.map { Array($0.unicodeScalars) }
    compare("a name from \(given)", found?.name, name)
    compare("a version from \(given)", found?.version, version)
    compare("a name's text", found?.description, name.map { $0 + (version.map { " " + $0 } ?? "") })
  }

  private mutating func tryIDs() {
    let text = String(repeating: one(["a", "é"]), count: one([0, 1, 32, 33, 63, 64, 65]))
    compareID(RelayRequestID(text)?.description, of: text)
    let count = one([0, 31, 32, 33])
    let bytes = (0..<count).map { _ in one([0, 9, 10, 15, 16, 171, 255] as [UInt8]) }
    let hash = TokenHash(bytes)
    compareHash(hash?.bytes, name: hash?.shortName, of: bytes)
    let (first, second) = (phone(), phone())
    let isBefore = Self.before(Self.digits(first), Self.digits(second))
    compare("whether \(first) < \(second)", first < second, isBefore)
    compare("a phone's name", first.description, first.uuid.description)
    if let left = self.hash(), let right = self.hash() {
      compare("\(left.bytes) < \(right.bytes)", left < right, Self.before(left.bytes, right.bytes))
    }
  }
}

// Answers in pieces.
extension RelayKeptWalk {
  mutating func compareID(_ found: String?, of text: String) {
    let isGood = text.utf8.count > 0 && text.utf8.count < 65
    compare("the id \(text)", found, isGood ? text : nil)
  }

  mutating func compareHash(_ found: [UInt8]?, name: String?, of bytes: [UInt8]) {
    let isHash = bytes.count == 32
    compare("a hash of \(bytes.count) bytes", found, isHash ? bytes : nil)
    let digits = Array("0123456789abcdef")
    let letters = bytes.prefix(6).flatMap { [digits[Int($0) / 16], digits[Int($0) % 16]] }
    compare("a hash's name", name, isHash ? String(letters) : nil)
  }

  private mutating func tryAssembly() {
    guard let id = RelayRequestID("q") else { return }
    let whole = one([#"{"success":true}"#, #"{"success":false,"a":[1]}"#, #"{"a":1}"#, "{", "[]"])
    let count = number(1...4)
    let letters = Array(whole)
    let parts = (0..<count).map { place in
      let range = letters.count * place / count..<letters.count * (place + 1) / count
      return HealthPart(
        kind: .summary, index: place, count: count, text: String(letters[range]))
    }
    var assembly = HealthAssembly()
    var taken = 0
    for _ in 0..<count + 3 where taken < count {
      var part = parts[taken]
      switch number(0...11) {
      case 0: part.index = one([taken + 1, taken - 1])
      case 1: part.kind = .healthData
      case 2: part.count += 1
      case _: break
      }
      // The first piece says of what kind the answer is, and how many pieces it has.
      if taken == 0, part.index == 0 { part = parts[0] }
      let copy = part
      let found = Result { () throws(RelayWireError) in try assembly.take(copy, of: id) }
      let must = Result { () throws(RelayWireError) -> HealthObject? in
        guard copy == parts[taken] else {
          throw RelayWireError(.outOfBounds(field: "index"), id: id, kind: copy.kind)
        }
        taken += 1
        return taken < count ? nil : try Self.object(whole, id)
      }
      compare("\(copy), taken,", found, must)
    }
  }

  private static func object(
    _ text: String, _ id: RelayRequestID
  ) throws(RelayWireError) -> HealthObject {
    do {
      return try RelayWireReading.object(Array(text.utf8))
    } catch {
      throw RelayWireError(error, id: id, kind: .summary)
    }
  }

  private mutating func tryFrames() {
    guard let id = RelayRequestID(String(of: "\"", count: one([1, 64]))) else { return }
    let letters = ["a", "\"", "\\", "\n", "é", "€", "𝄞", "\u{7F}", "{", ","]
    var object = "{\"success\":true,\"a\":["
    for _ in 0..<number(0...90) { object += String(repeating: one(letters), count: number(1...60)) }
    let bytes = Array(object.utf8)
    let answer = PhoneMessage.healthData(id, HealthObject(succeeded: true, bytes: bytes))
    let limit = one([0, 1_023, 1_024, 1_025, 1_500, 3_000, answer.bytes.count - number(0...1)])
    let found = PhoneMessage.frames(
      answering: .healthData, id, HealthObject(succeeded: true, bytes: bytes), atMost: limit)
    compareFrames(found, of: bytes, id, limit)
  }

  /// Compares the frames that an answer is sent in.
  mutating func compareFrames(
    _ found: [PhoneMessage], of bytes: [UInt8], _ id: RelayRequestID, _ limit: Int
  ) {
    let answer = PhoneMessage.healthData(id, HealthObject(succeeded: true, bytes: bytes))
    var must = [answer]
    if answer.bytes.count > limit {
      let pieces = RelayWireScribe.pieces(bytes, limit)
      must = pieces.enumerated().map { place, piece in
        .part(
          id, HealthPart(kind: .healthData, index: place, count: pieces.count, text: piece))
      }
    }
    compare("an answer of \(bytes.count) bytes in frames of \(limit)", found, must)
    let isShort = found.allSatisfy { $0.bytes.count <= max(limit, 1_024) }
    compare("whether frames of \(limit) bytes are kept", isShort, true)
  }
}
