import LinkCore
import LinkServerCore
import LinkWire

// Requests in any order and of any sense: the server's twin says what each is answered with.
extension SyncStranger {
  private static let users = ["stranger", "another", "a\"third"].map { SyncUser($0) }

  /// What is under way in a walk.
  private struct Walk {
    var names: [UUID128] = []
    /// Requests whose heads came.
    var coming: [(RequestID, SyncLetter)] = []
    var asked: [RequestID] = []
    var offsets: [Int] = [0]
  }

  mutating func tryWalk() {
    var walk = Walk()
    let isCrowded = number(0...2) == 0
    let isOdd = number(0...1) == 0
    for step in 0..<(isCrowded ? 240 : 90) {
      if number(0...7) == 0 { wait() }
      desk.failure = number(0...15) == 0 ? Self.failures[number(0...5)] : nil
      desk.odd = isOdd && number(0...20) == 0 ? Self.odd[number(0...6)] : nil
      if number(0...11) == 0 { desk.holds = true }
      if desk.holds, number(0...(isCrowded ? 120 : 9)) == 0 { desk.release() }
      if isCrowded, desk.holds, number(0...15) == 0 {
        for _ in 0..<number(20...64) { desk.ask(call("POST", .refresh), of: user) }
      }
      switch number(0...19) {
      case 0: restore(&walk)
      case 1: desk.feed(.other(.abandoned(walk.asked.randomElement(using: &chance) ?? newID())))
      case 2, 3: announce(&walk)
      case 4...6: endBody(&walk)
      case 7 where step > 60 && number(0...5) == 0:
        desk.feed(.other(.drain(within: .milliseconds(number(0...9_000)))))
      case _: ask(letter(&walk, isCrowded: isCrowded), &walk)
      }
    }
    desk.release()
    desk.now = desk.now.advanced(by: .seconds(10))
    desk.tick()
  }

  private static let failures: [StoreFailure] = [
    .full(detail: "a"), .locked(detail: "b"), .corrupt(detail: "c"), .denied(detail: "d"),
    .other(detail: "e"), .fromTheFuture(found: 2, supported: 1),
  ]

  private static let odd: [SyncOutcome] = [
    .tooLong(limit: 4_194_304), .refused(reason: "it says \"no\""), .checked, .kept(3),
    .told([0x7B, 0x7D]), .stored(SyncTally(records: 1, workouts: 2, skippedDuplicates: 4)),
    .unfinished(5, .full(detail: "f")),
  ]

  private mutating func newID() -> RequestID { desk.newRequest() }

  private mutating func wait() {
    let spans = [
      Duration.milliseconds(7), .seconds(1), .seconds(9), .seconds(3_600), .seconds(43_200),
    ]
    if let due = desk.server.rules.deadline, number(0...2) == 0 {
      desk.now = max(desk.now, due.advanced(by: .nanoseconds(number(-1...1))))
    } else {
      desk.now = desk.now.advanced(by: spans[number(0...4)])
    }
    desk.tick()
  }

  private mutating func anybody() -> SyncUser? {
    number(0...9) == 0 ? nil : Self.users[number(0...9) < 8 ? 0 : number(1...2)]
  }

  // Requests.

  private mutating func protocolFields() -> [String: String] {
    switch number(0...11) {
    case 0: [:]
    case 1: ["tus-resumable": number(0...1) == 0 ? "0.2.2" : "1.0.0 "]
    case 2: ["upload-draft-interop-version": ["2", "9", "x", "", "-3", "03"][number(0...5)]]
    case 3: ["upload-draft-interop-version": " \(number(3...8)) ;a=1", "tus-resumable": "1.0.0"]
    case 4...6: ["tus-resumable": "1.0.0"]
    case _: ["upload-draft-interop-version": "\(number(3...8))"]
    }
  }

  private mutating func fields(_ walk: Walk, _ count: Int) -> [String: String] {
    var fields = protocolFields()
    let words = ["?1", "?0", "?0", "?0;x=1", " ?1\t", "1", ""]
    if number(0...9) > 0 { fields["upload-complete"] = words[number(0...6)] }
    if number(0...9) > 0 { fields["upload-incomplete"] = words[number(0...6)] }
    let lengths = [
      count, count, count + 1, count + 5, count - 1, 4_194_304, 4_194_305, 999_999_999_999_999,
    ]
    if number(0...3) > 0 { fields["upload-length"] = "\(lengths[number(0...7)])" }
    let odd = ["", "x", "1e3", "1234567890123456"]
    if number(0...20) == 0 { fields["upload-length"] = odd[number(0...3)] }
    let offset = walk.offsets.randomElement(using: &chance) ?? 0
    let offsets = [offset, offset, offset, offset + 1, 0, number(0...9)]
    if number(0...12) > 0 { fields["upload-offset"] = "\(offsets[number(0...5)])" }
    let types = [
      "application/partial-upload", "application/offset+octet-stream",
      "Application/Partial-Upload ; charset=x", "\tapplication/offset+octet-stream", "text/plain",
    ]
    if number(0...12) > 0 {
      let isTus = fields["tus-resumable"] != nil
      fields["content-type"] = number(0...7) == 0 ? types[number(0...4)] : types[isTus ? 1 : 0]
    }
    if number(0...5) == 0 { fields["content-length"] = ["\(count)", "x", "7"][number(0...2)] }
    let codings = ["gzip", "x-GZIP", "identity", "", "br", "gzip, br"]
    if number(0...6) == 0 { fields["content-encoding"] = codings[number(0...5)] }
    let origins = ["http://localhost:3000", "https://127.0.0.1", Self.foreign]
    if number(0...12) == 0 { fields["origin"] = origins[number(0...2)] }
    if number(0...25) == 0 { fields["host"] = "elsewhere.example" }
    return fields
  }

  private mutating func letter(_ walk: inout Walk, isCrowded: Bool) -> SyncLetter {
    let body = (0..<number(0...6)).map { _ in UInt8(truncatingIfNeeded: number(0...255)) }
    let fields = fields(walk, body.count)
    let methods = ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "post"]
    if number(0...7) == 0 {
      let path = SyncPath.allCases[number(0...SyncPath.allCases.count - 1)]
      var letter = call(methods[number(0...7)], path, body: body, fields, candidate: newName())
      if number(0...1) == 0 { letter.query["from"] = Self.dates[number(0...Self.dates.count - 1)] }
      if number(0...1) == 0 { letter.query["to"] = Self.dates[number(0...Self.dates.count - 1)] }
      return letter
    }
    if number(0...(isCrowded ? 1 : 2)) == 0 {
      var letter = call("POST", .sync, body: body, fields, candidate: newName())
      if number(0...3) == 0 {
        let batch = SyncStrangeBatch(number(0...2), number(0...1), at: number(0...1 << 30))
        letter.body = number(0...4) == 0 ? SyncRequest.packed(batch.body) : batch.body
      }
      walk.names.append(letter.candidate)
      return letter
    }
    if number(0...9) == 0 { return call("POST", .refresh, body: [], fields) }
    let id = number(0...15) == 0 ? newName() : recent(walk)
    let kinds = ["HEAD", "PATCH", "PATCH", "PATCH", "PATCH", "PATCH", "DELETE", "HEAD"]
    var letter = call(kinds[number(0...7)], .upload, body: body, fields, id: id)
    if number(0...20) == 0 { letter.query["id"] = "1" }
    return letter
  }

  /// The name of an upload, of a late one more often.
  private mutating func recent(_ walk: Walk) -> UUID128 {
    guard !walk.names.isEmpty else { return newName() }
    let last = walk.names.count - 1
    return walk.names[max(number(0...last), number(0...2) > 0 ? last - 2 : 0)]
  }

  private static let dates = [
    "2026-01-31", "2024-02-29", "2026-02-29", "2100-02-29", "2000-02-29", "2026-13-01", "2026-1-31",
    "2026-01-00", "2026-12-31", "2026-01-31T00:00", "", "today", "+026-01-31", "2026-06-31",
  ]

  private mutating func ask(_ letter: SyncLetter, _ walk: inout Walk) {
    let id = newID()
    walk.asked.append(id)
    desk.ask(letter, of: anybody(), as: id)
    learn(id, &walk)
  }

  /// Learns where uploads go on, as a client would.
  private mutating func learn(_ id: RequestID, _ walk: inout Walk) {
    let offset = Self.value("upload-offset", of: desk.answers[id]).flatMap { Int($0) }
    if let offset { walk.offsets = [offset] + walk.offsets.prefix(2) }
  }

  // Bodies that come.

  private mutating func announce(_ walk: inout Walk) {
    var letter = letter(&walk, isCrowded: false)
    letter.body = []
    let id = newID()
    walk.coming.append((id, letter))
    desk.feed(.announced(id, letter, user: anybody()))
  }

  private mutating func endBody(_ walk: inout Walk) {
    guard !walk.coming.isEmpty else { return }
    let (id, head) = walk.coming.remove(at: number(0...walk.coming.count - 1))
    var letter = head
    letter.body = (0..<number(0...4)).map { UInt8($0) }
    if number(0...1) == 0 {
      desk.feed(.cut(id, letter))
    } else {
      walk.asked.append(id)
      desk.ask(letter, of: Self.users[0], as: id)
      learn(id, &walk)
    }
  }

  /// Uploads of an earlier process: some that are nearly full, or nearly too old.
  private mutating func restore(_ walk: inout Walk) {
    var kept: [KeptUpload] = []
    let ages = [86_400, 86_399, 86_401, 5, 0]
    let isMany = number(0...5) == 0
    for index in 0..<(isMany ? 256 - number(0...9) : number(1...4)) {
      let name = newName()
      let offset = number(0...1) == 0 ? 4_194_304 - number(0...5) : number(0...9)
      let length = [nil, 4_194_304, offset + number(0...6)][number(0...2)]
      kept.append(
        KeptUpload(
          id: name,
          record: SyncUploadRecord(
            user: isMany ? "owner \(index)" : Self.users[number(0...2)].name, length: length,
            isGzip: number(0...3) == 0),
          offset: offset, age: .seconds(ages[number(0...4)])))
      walk.names.append(name)
      walk.offsets = [offset] + walk.offsets.prefix(2)
    }
    desk.feed(.other(.restored(kept)))
  }
}
