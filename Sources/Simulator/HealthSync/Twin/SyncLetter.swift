import LinkCore
import LinkServerCore
import LinkWire

/// A request as it came: what the server reads of it, and what its twin does.
struct SyncLetter: Sendable {
  var method: String
  var path: SyncPath
  /// Header fields by their names in lower case.
  var fields: [String: String]
  var query: [String: String] = [:]
  var candidate = UUID128(high: 0, low: 0)
  var body: [UInt8] = []

  /// What the server reads.
  var call: SyncCall {
    SyncCall(method, path, body: body) {
      fields[$0]
    } query: {
      query[$0]
    } candidate: {
      candidate
    }
  }

  /// What happens to a server, with requests as they came.
  enum Event: Sendable {
    case request(RequestID, SyncLetter, user: SyncUser?, wall: Timestamp)
    case announced(RequestID, SyncLetter, user: SyncUser?)
    case cut(RequestID, SyncLetter)
    case other(SyncServer.Input)

    var input: SyncServer.Input {
      switch self {
      case .request(let id, let letter, let user, let wall):
        .request(id, letter.call, user: user, wall: wall)
      case .announced(let id, let letter, let user): .announced(id, letter.call, user: user)
      case .cut(let id, let letter): .cut(id, letter.call)
      case .other(let input): input
      }
    }
  }

  // What it says, read a second time.

  var isOfOtherTus: Bool { fields["tus-resumable"].map { $0 != "1.0.0" } ?? false }

  /// The protocol of uploads: an interop version, or 0 for tus; `nil` for none.
  var version: Int? {
    if let version = Self.integer(fields["upload-draft-interop-version"]) {
      return 3...8 ~= version ? version : nil
    }
    return fields["tus-resumable"] == "1.0.0" ? 0 : nil
  }

  /// Whether the content ends the upload, as the draft says it.
  var ends: Bool? {
    guard let version, version > 0 else { return nil }
    let name = version == 3 ? "upload-incomplete" : "upload-complete"
    switch fields[name].map({ Self.bare($0) }) {
    case "?1": return version != 3
    case "?0": return version == 3
    case _: return nil
    }
  }

  var offset: Int? { Self.integer(fields["upload-offset"]) }

  var length: Int? {
    if let length = Self.integer(fields["upload-length"]) { return length }
    guard ends == true, path == .sync else { return nil }
    return fields["content-length"].flatMap { Int($0) }
  }

  var upload: UUID128? { query["id"].flatMap { UUID128($0) } }

  var mediaType: String? {
    fields["content-type"].map { type in
      let name = type.split(separator: ";", omittingEmptySubsequences: false)[0]
      return name.lowercased().filter { !" \t".contains($0) }
    }
  }

  /// Whether the body is compressed; `nil` in a coding that is not known.
  var isGzip: Bool? {
    switch (fields["content-encoding"] ?? "").lowercased() {
    case "", "identity": false
    case "gzip", "x-gzip": true
    case _: nil
    }
  }

  /// The text of an item of a structured field.
  private static func bare(_ text: String) -> String {
    var item = text.split(separator: ";", omittingEmptySubsequences: false)[0]
    while let first = item.first, " \t".contains(first) { item = item.dropFirst() }
    while let last = item.last, " \t".contains(last) { item = item.dropLast() }
    return String(item)
  }

  private static func integer(_ text: String?) -> Int? {
    guard let digits = text.map({ bare($0) }), 1...15 ~= digits.count,
      digits.allSatisfy({ "0123456789".contains($0) })
    else { return nil }
    return Int(digits)
  }

  /// The day of a date such as `2026-01-31`; `nil` for other texts.
  static func day(_ text: String) -> Int64? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.count) == [4, 2, 2],
      text.allSatisfy({ "0123456789-".contains($0) }), let year = Int(parts[0]),
      let month = Int(parts[1]), let day = Int(parts[2]), year >= 1_970, 1...12 ~= month
    else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let months = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard day >= 1, day <= months[month - 1] else { return nil }
    let before = (year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400
    return Int64(before - 719_162 + months[..<(month - 1)].reduce(0, +) + day - 1)
  }
}

/// An answer as it is on the wire.
struct SyncReplyText: Hashable {
  var status: Int
  var fields: [[String]]
  var body: String

  init(_ status: Int, _ fields: [[String]], _ body: String) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  init(_ answer: SyncAnswer) {
    status = answer.status
    fields = answer.headers.map { [$0.0, $0.1] }
    body = String(decoding: answer.body, as: UTF8.self)
    // The page for browsers is not told a second time.
    let isPage = body.hasPrefix("<!doctype html>\n") && body.hasSuffix("</html>\n")
    if isPage { body = SyncHouse.page }
  }
}

/// What a server asks for.
enum SyncOrder: Hashable {
  case ingest(UInt64, SyncUser, [UInt8], isGzip: Bool)
  case check(UInt64)
  case tell(UInt64, SyncUser, SyncPath, [Int64?], Timestamp)
  case keep(UInt64, UUID128, line: String, at: Int, [UInt8], isLast: Bool)
  case forget(UUID128)
  case inform(RequestID, [[String]])
  case interrupt(RequestID)
  case answer(RequestID, SyncReplyText)
  case finished

  init(_ effect: SyncServer.Effect) {
    func line(_ record: SyncUploadRecord) -> String { String(decoding: record.line, as: UTF8.self) }
    self =
      switch effect {
      case .ingest(let token, let user, let body, let isGzip):
        .ingest(token.number, user, body, isGzip: isGzip)
      case .check(let token): .check(token.number)
      case .tell(let token, let user, let path, let span, let wall):
        .tell(
          token.number, user, path, [span.first?.nanoseconds, span.last?.nanoseconds], wall)
      case .keep(let token, let id, let record, let offset, let bytes):
        .keep(token.number, id, line: line(record), at: offset, bytes, isLast: false)
      case .finish(let token, let id, let record, let offset, let bytes):
        .keep(token.number, id, line: line(record), at: offset, bytes, isLast: true)
      case .forget(let id): .forget(id)
      case .inform(let id, let fields): .inform(id, fields.map { [$0.name, $0.value] })
      case .interrupt(let id): .interrupt(id)
      case .answer(let id, let answer): .answer(id, SyncReplyText(answer))
      case .finished: .finished
      }
  }
}
