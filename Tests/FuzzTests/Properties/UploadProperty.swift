import HoldfastCore
import HoldfastServerParts
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads

@testable import HoldfastHealthSync
@testable import HoldfastSQLiteStores

/// The properties of the files and rows of a phone that syncs, of the responses of servers, and of
/// the records and fields of uploads that a server reads.
enum UploadProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    switch choices.byte() % 6 {
    case 0: try ticket(Array(choices.rest))
    case 1: try record(Array(choices.rest))
    case 2: try payload(Array(choices.rest))
    case 3: try fields(&choices)
    case 4: try upload(&choices)
    case _: try rows(&choices)
    }
  }

  private static func ticket(_ text: [UInt8]) throws(Broken) {
    guard let ticket = try? UploadTicket.read(text) else { return }
    try hold((try? .read(ticket.bytes)) == ticket, "a ticket that was read can be written")
    try hold(ticket.url.utf8.count <= UploadTicket.mostURLBytes, "a ticket's URL is bounded")
  }

  private static func record(_ text: [UInt8]) throws(Broken) {
    guard let (record, count) = UploadRecord.read(text) else { return }
    try hold(count <= UploadRecord.mostBytes, "a record's line is bounded")
    let again = UploadRecord.read(record.line)
    try hold(again?.record == record, "a record that was read can be written")
  }

  /// Splits a payload file that a server found too large. The file may be damaged.
  private static func payload(_ text: [UInt8]) throws(Broken) {
    guard let halves = SyncPacking.halves(of: text) else { return }
    guard let batch = try? SyncBatch.read(text) else { throw Broken("only a batch is split") }
    let count = (batch.records?.count ?? 0) + (batch.workouts?.count ?? 0)
    try hold(halves.count == 2, "a batch is split in two")
    try hold(
      halves.reduce(0) { $0 + $1.records } == count
        && halves.reduce(0) { $0 + $1.deletions } == batch.deletedUUIDs.count,
      "the halves hold what the batch held")
    for half in halves {
      try hold((try? SyncBatch.read(half.bytes)) != nil, "a half can be read")
    }
  }

  private static let names = [
    "Upload-Draft-Interop-Version", "Tus-Resumable", "Upload-Complete", "Upload-Incomplete",
    "Upload-Offset", "Upload-Length", "Upload-Limit", "Accept-Patch", "Tus-Version",
    "Tus-Extension", "Tus-Max-Size", "Location",
  ]

  private static func read(_ choices: inout Choices) -> [String: String] {
    var found: [String: String] = [:]
    let mask = choices.byte()
    for (index, name) in names.enumerated() where index > 7 || mask & 1 << index != 0 {
      found[name] = choices.text()
    }
    return found
  }

  private static func fields(_ choices: inout Choices) throws(Broken) {
    let texts = read(&choices)
    if let fields = UploadFields(request: { texts[$0] }) {
      try hold((fields.offset ?? 0) >= 0 && (fields.length ?? 0) >= 0, "counts are not negative")
      let written = Dictionary(
        fields.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
      try hold(
        UploadFields(request: { written[$0] }) == fields, "fields that were read can be written")
    }
    if let offer = UploadOffer(options: { texts[$0] }) {
      try hold((offer.maxSize ?? 0) >= 0 && (offer.maxAppend ?? 0) >= 0, "bounds are counts")
    }
    let server = "https://a.example:81/x"
    let reply = UploadReply(201, .current, of: server) { texts[$0] }
    try hold(
      reply.url?.hasPrefix("https://a.example:81/") ?? true, "no location leaves the server")
  }

  /// Checks that an upload ends, whatever the responses are, and sends only bytes of its payload.
  private static func upload(_ choices: inout Choices) throws(Broken) {
    let size = Int(choices.byte()) * 4_000
    let dialects = [UploadDialect.current, .iOS, .tus]
    let dialect = dialects[Int(choices.byte()) % dialects.count]
    let location = "https://a.example/up"
    var upload = ResumableUpload(
      size: size, UploadOffer(dialect), url: choices.byte() & 1 == 0 ? location : nil)
    let statuses = [200, 201, 204, 400, 401, 404, 409, 413, 500, 503]
    for _ in 0..<64 {
      switch upload.step {
      case .whole, .ended: return
      case .append(_, let from, let count, let isLast):
        try hold(
          from >= 0 && count >= 0 && from + count <= size && isLast == (from + count == size),
          "a piece is a part of the payload")
      case .create, .offset: break
      }
      let status = statuses[Int(choices.byte()) % statuses.count]
      let known = choices.byte()
      _ = upload.take(
        UploadReply(
          status,
          UploadFields(
            dialect, offset: known & 1 == 0 ? nil : Int(choices.byte()) * 4_100,
            isComplete: known & 2 == 0 ? nil : known & 4 == 0),
          url: known & 8 == 0 ? nil : location))
    }
    throw Broken("an upload ends")
  }

  private static let loose = Schema(
    applicationID: 1,
    tables: """
      CREATE TABLE queue(only_one, stamp, server, user, epoch);
      CREATE TABLE asked(place, type);
      CREATE TABLE types(type, anchor, synced, accepted, earliest);
      CREATE TABLE batches(file, type, place, records, deletions, bytes, quarantined);
      """)

  /// Reads rows of the phone's queue with arbitrary values in their columns, as in a damaged file.
  private static func rows(_ choices: inout Choices) throws(Broken) {
    do throws(StoreFailure) {
      let database = try Database(
        path: ":memory:", access: .write, busyTimeout: .zero, schema: loose)
      let tables = [("queue", 5), ("asked", 2), ("types", 5), ("batches", 7)]
      let (name, count) = tables[Int(choices.byte()) % tables.count]
      var values: [SQLValue] = []
      for _ in 0..<count { values.append(value(&choices)) }
      let placeholders = values.map { _ in "?" }.joined(separator: ", ")
      try database.run("INSERT INTO \(name) VALUES (\(placeholders))", values)
      _ = try SyncQueueTables(database).stored()
    } catch {
      guard case .corrupt = error else { throw Broken("a bad row is corrupt, not \(error)") }
    }
  }

  private static func value(_ choices: inout Choices) -> SQLValue {
    switch choices.byte() & 3 {
    case 0: .null
    case 1: .integer(Int64(bitPattern: choices.word()))
    case 2: .text(choices.text())
    case _: .blob(choices.take(Int(choices.byte())))
    }
  }
}
