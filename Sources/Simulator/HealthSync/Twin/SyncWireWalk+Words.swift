import HealthSync
import LinkCore
import LinkServerCore
import LinkWire

// Hashes, tickets, the lines of files, and answers.
extension SyncWireWalk {
  mutating func tryHashes() {
    let one = (0..<32).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    var two = one
    let place = number(0...31)
    two[place] = UInt8(truncatingIfNeeded: chance.next())
    guard let left = SyncHash(one), let right = SyncHash(two) else {
      return expect(false, "32 bytes are no hash")
    }
    expect(left.bytes == one, "a hash has other bytes")
    expect((left < right) == (one[place] < two[place]), "hashes are in another order")
    expect(
      SyncHash(Array(one.dropLast())) == nil && SyncHash(one + [0]) == nil, "a hash has 32 bytes")
  }

  // Tickets.

  mutating func tryTickets() {
    let bytes = (0..<number(0...40)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    var sum: UInt64 = 14_695_981_039_346_656_037
    for byte in bytes {
      sum = (sum ^ UInt64(byte)).multipliedReportingOverflow(by: 1_099_511_628_211).partialValue
    }
    let version = [0, 3, 4, 5, 6, 7, 8][number(0...6)]
    let isGzip = happens(2)
    let ticket = UploadTicket(
      version == 0 ? .tus : .draft(version), url: "http://a/\"b", of: bytes, isGzip: isGzip)
    let text =
      #"{"protocol":"\#(version == 0 ? "tus" : "\(version)")","url":"http://a/\"b","#
      + #""size":\#(bytes.count),"gzip":\#(isGzip),"sum":"\#(String(sum, radix: 16))"}"#
    expect(
      ticket.bytes == Array(text.utf8),
      "a ticket is \(String(decoding: ticket.bytes, as: UTF8.self)), not \(text)")
    expect((try? UploadTicket.read(Array(text.utf8))) == ticket, "\(text) is not read")
    tryOddTicket()
  }

  /// A ticket with one member at, below or above its bound.
  private mutating func tryOddTicket() {
    var members = [
      "protocol": "\"8\"", "url": "\"http://a\"", "size": "5", "gzip": "true", "sum": "\"ff\"",
    ]
    let url = String(of: "u", count: 2_048)
    let odd: [(String, String?, Bool)] = [
      ("protocol", "\"2\"", false), ("protocol", "\"9\"", false), ("protocol", "\"3\"", true),
      ("protocol", "\"03\"", false), ("protocol", "\"+8\"", false), ("protocol", "\"tus\"", true),
      ("protocol", "\"TUS\"", false), ("protocol", nil, false), ("url", "\"\(url)\"", true),
      ("url", "\"\(url)u\"", false), ("url", nil, false), ("size", "0", true),
      ("size", "-1", false),
      ("size", "1099511627776", true), ("size", "1099511627777", false), ("size", nil, false),
      ("gzip", nil, false), ("gzip", "null", false), ("gzip", "1", false), ("sum", nil, false),
      ("sum", "\"ffffffffffffffff\"", true), ("sum", "\"0ffffffffffffffff\"", false),
      ("sum", "\"g\"", false), ("sum", "\"\"", false), ("more", "1", true),
    ]
    let (name, value, isRight) = odd[number(0...odd.count - 1)]
    members[name] = value
    let text = "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    let ticket = try? UploadTicket.read(Array(text.utf8))
    expect((ticket != nil) == isRight, "\(text.prefix(200)) is a ticket or is none")
  }

  // Places of uploads.

  mutating func tryPlaces() {
    let servers = [
      ("https://a.example:8443/api/sync", "https://a.example:8443"),
      ("http://localhost", "http://localhost"), ("http://a//b", "http://a"), ("http:/a/b", nil),
      ("http:", nil), ("", nil), ("http/", nil), ("a/b/c", nil), ("http//a/b", nil),
    ]
    let (server, origin) = servers[number(0...8)]
    let most = String(of: "p", count: 2_047)
    let paths = ["/u?id=1", "/", "/\(most)", "/~!\"#"]
    let odd = [
      "", "u", "//a/u", "/\(most)p", "/a b", "/a\u{7F}", "/\\", "/é", "ftp://a/u", "/\u{1F}",
    ]
    let isRight = happens(2)
    let path = isRight ? paths[number(0...3)] : odd[number(0...9)]
    let isWhole = isRight && happens(2) && path.count < 100
    let location = isWhole ? (origin ?? "http://a") + path : path
    let must = isRight ? origin.map { $0 + path } : nil
    let reply = UploadReply(201, .tus, of: server) { $0 == "Location" ? location : nil }
    expect(
      reply.url == must, "\(location.prefix(60)) at \(server) is \(reply.url ?? "none")")
  }

  // The lines of files of uploads.

  mutating func tryRecords() {
    let users = ["a", String(of: "b", count: 200), String(of: "b", count: 201), ""]
    let user = users[number(0...3)]
    let lengths = [nil, 0, 1, 4_194_304, 4_194_305, -1]
    let length = lengths[number(0...5)]
    let gzips = ["true", "false", nil, "null", "1"]
    let gzip = gzips[number(0...4)]
    var members = [SyncScribe.member("user", user)]
    if let length { members.append("\"length\":\(length)") }
    if let gzip { members.append("\"gzip\":\(gzip)") }
    let many = String(of: "m", count: 1_900)
    if happens(5) { members.append(SyncScribe.member("more", many)) }
    let line = SyncScribe.object(members)
    let text = line + (happens(9) ? "" : "\n") + "abc"
    let isRight =
      (1...200).contains(user.count) && (0...4_194_304).contains(length ?? 0) && gzip != "1"
      && text.contains("\n") && line.utf8.count < 2_048
    let found = SyncUploadRecord.read(Array(text.utf8))
    guard isRight else {
      // A name may be empty for all that the line says.
      return expect(found == nil || user.isEmpty, "\(text.prefix(100)) is the line of an upload")
    }
    let must = SyncUploadRecord(user: user, length: length, isGzip: gzip == "true")
    expect(found?.record == must, "\(text.prefix(100)) is read as \(found.map { "\($0)" } ?? "-")")
    expect(found?.bytes == line.utf8.count + 1, "the line of an upload has another length")
  }

  // Answers.

  mutating func tryReplies() {
    let (records, workouts, known) = (number(0...9), number(0...9), number(0...9))
    let tally = SyncTally(records: records, workouts: workouts, skippedDuplicates: known)
    let text =
      #"{"success":true,"inserted":{"records":\#(records),"workouts":\#(workouts)},"#
      + #""skippedDuplicates":\#(known)}"#
    expect(tally.bytes == Array(text.utf8), "\(tally) is not written as \(text)")
    expect((try? SyncTally.read(Array(text.utf8))) == tally, "\(text) is not read")
    let odd = [
      text.replacing("true", with: "false"), text.replacing("true", with: "null"),
      text.replacing("\"records\":\(records)", with: "\"records\":-1"),
      text.replacing("\"workouts\"", with: "\"w\""),
      text.replacing("skippedDuplicates", with: "skipped"), "{}", "[]", "{\"success\":true}",
    ]
    let wrong = odd[number(0...7)]
    expect((try? SyncTally.read(Array(wrong.utf8))) == nil, "\(wrong) is read as an answer")
    let long = String(repeating: "é", count: 1_001)
    let reasons: [(String, String?)] = [
      (#"{"error":"a","details":"b","message":"c"}"#, "b"), (#"{"error":"a","message":"c"}"#, "a"),
      (#"{"message":"c"}"#, "c"), (#"{"message":"\#(long)"}"#, String(long.dropLast())),
      (#"{"details":null,"error":"a"}"#, "a"), (#"{"details":1,"error":"a"}"#, "a"), ("{}", nil),
      ("", nil), (#"{"other":"x"}"#, nil),
    ]
    let (body, reason) = reasons[number(0...8)]
    let found = SyncReply.reason(of: Array(body.utf8))
    expect(found == reason, "the reason of \(body.prefix(60)) is \(found ?? "none")")
  }

  // Uploads in pieces.

  /// Sends something in pieces to a server that answers as it likes.
  mutating func tryCourse() {
    let (version, size) = ([0, 3, 4, 6, 8][number(0...4)], number(0...9) * number(1...60_000))
    let limits = [nil, size, size - 1, size + 1]
    let most = limits[happens(4) ? number(0...3) : 0]
    let pieces = [nil, 1, 7, 1_000, 262_144, 262_145, 0]
    let piece = pieces[number(0...6)]
    let dialect = version == 0 ? UploadDialect.tus : .draft(version)
    let url = happens(2) ? "http://a/old" : nil
    var upload = ResumableUpload(
      size: size, UploadOffer(dialect, maxSize: most, maxAppend: piece), url: url)
    var twin = SyncCourseTwin(version, size, piece: piece, most: most, url: url)
    for _ in 0..<14 {
      let (step, must) = (upload.step, twin.step)
      expect(step == must, "an upload goes on with \(step), not \(must)")
      let (fields, told) = (upload.fields.map { [$0.name, $0.value] }, twin.fields)
      expect(fields == told, "an upload says \(fields), not \(told)")
      expect(upload.isUnderstood == twin.isUnderstood, "a server knows uploads, or does not")
      let reply = reply(dialect, twin, size)
      let (keep, kept) = (upload.take(reply), twin.take(reply))
      expect(keep == kept, "after \(reply) an upload keeps \(keep), not \(kept)")
    }
  }

  private mutating func reply(
    _ dialect: UploadDialect, _ twin: SyncCourseTwin, _ size: Int
  ) -> UploadReply {
    let odd = [
      104, 199, 300, 400, 401, 403, 404, 408, 409, 409, 410, 413, 425, 429, 500, 501, 502, 503, 599,
      600,
    ]
    let isWell = !happens(3)
    let status = isWell ? [200, 201, 204, 299][number(0...3)] : odd[number(0...19)]
    let offsets = [twin.from, twin.from, 0, size, size + 1, number(0...max(1, size))]
    return UploadReply(
      status,
      UploadFields(
        dialect, offset: happens(5) ? nil : offsets[number(0...5)],
        isComplete: happens(3) ? happens(2) : nil),
      url: happens(6) ? nil : "http://a/\(number(0...3))")
  }
}
