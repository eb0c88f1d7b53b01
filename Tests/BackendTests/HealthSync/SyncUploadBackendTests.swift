import Foundation
import HoldfastAssistants
import HoldfastCore
import HoldfastProtocols
import HoldfastServerParts
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads
import Testing

@testable import HoldfastBackend

/// Tests of resumable uploads over real sockets, with real files.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SyncUploadBackendTests {
  private static let secret = "hush-hush-hush-hush"

  private static func run(
    in directory: String, _ body: (BackendRig) async throws -> Void
  ) async throws {
    let file = directory + "-secrets"
    try Data("ann \(secret) Etc/UTC\n".utf8).write(to: URL(fileURLWithPath: file))
    try await BackendRig.run(
      in: directory,
      {
        $0.syncSecretFile = file
        $0.assistants.originPolicy.hosts = ["test"]
      }, body)
  }

  /// Returns a batch of `count` records as text.
  private static func batch(_ count: Int = 200) -> String {
    String(
      decoding: SyncBatch(
        dataType: SyncSamples.steps,
        records: (0..<count).map {
          SyncSamples.record(1_768_766_400 + Int64($0), uuid: UInt64($0))
        }, timestamp: SyncSamples.time(1_000)
      ).bytes, as: UTF8.self)
  }

  private static let stored =
    #"{"success":true,"inserted":{"records":200,"workouts":0},"skippedDuplicates":0}"#

  /// Returns the header lines of a request, in order.
  private static func fields(_ upload: UploadFields, type: String? = nil) -> [String] {
    upload.fields.map { "\($0.name): \($0.value)" } + (type.map { ["Content-Type: \($0)"] } ?? [])
  }

  private static func head(
    _ method: String, _ target: String, _ upload: UploadFields, length: Int
  ) -> String {
    let lines =
      ["\(method) \(target) HTTP/1.1", "Host: test", "Authorization: Bearer \(secret)"]
      + fields(upload, type: upload.dialect.mediaType) + ["Content-Length: \(length)"]
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  private static func ask(
    _ rig: BackendRig, _ method: String, _ target: String, _ upload: UploadFields,
    body: String? = nil
  ) async throws -> SocketsClient.Response {
    try await rig.client().ask(
      method, target, token: secret,
      fields: fields(upload, type: body == nil ? nil : upload.dialect.mediaType), body: body)
  }

  /// Sends the first `count` bytes of an upload, and disconnects. Returns the location of the
  /// upload.
  private static func cutCreation(
    _ rig: BackendRig, _ dialect: UploadDialect, _ text: String, after count: Int
  ) async throws -> String {
    let client = try rig.client()
    let start = head(
      "POST", "/api/sync", UploadFields(dialect, length: text.utf8.count, isComplete: true),
      length: text.utf8.count)
    let response = try await client.speak(start + text.prefix(count))
    #expect(response.status == 104)
    #expect(response.headers["upload-draft-interop-version"] == dialect.fields[0].value)
    await client.leave()
    return try #require(response.headers["location"])
  }

  /// Returns the offset of an upload. The server reports it once it has noticed the disconnection.
  private static func offset(
    _ rig: BackendRig, _ location: String, _ dialect: UploadDialect
  ) async throws -> Int? {
    let answer = try await ask(rig, "HEAD", location, UploadFields(dialect))
    #expect([200, 204].contains(answer.status))
    return answer.headers["upload-offset"].flatMap { Int($0) }
  }

  @Test(arguments: [UploadDialect.current, .iOS, .draft(6)])
  func `an interrupted upload resumes at its offset, also after a restart`(
    dialect: UploadDialect
  ) async throws {
    let scratch = try Scratch()
    let text = Self.batch()
    var location = ""
    try await Self.run(in: scratch("data")) { rig in
      location = try await Self.cutCreation(rig, dialect, text, after: 9_000)
      #expect(try await Self.offset(rig, location, dialect) == 9_000)
      #expect(try scratch.mode(of: "data/sync-uploads") == 0o700)
      let names = try FileManager.default.contentsOfDirectory(atPath: scratch("data/sync-uploads"))
      #expect(try names.map { try scratch.mode(of: "data/sync-uploads/\($0)") } == [0o600])
    }
    try await Self.run(in: scratch("data")) { rig in
      #expect(try await Self.offset(rig, location, dialect) == 9_000)
      let rest = String(text.dropFirst(9_000))
      let last = UploadFields(dialect, offset: 9_000, isComplete: true)
      let wrong = try await Self.ask(
        rig, "PATCH", location, UploadFields(dialect, offset: 8_999, isComplete: true),
        body: rest)
      #expect(wrong.status == 409)
      #expect(wrong.headers["upload-offset"] == "9000")
      let answer = try await Self.ask(rig, "PATCH", location, last, body: rest)
      #expect(answer.status == 200)
      #expect(answer.body == Self.stored)
      let done = dialect == .iOS ? ("upload-incomplete", "?0") : ("upload-complete", "?1")
      #expect(answer.headers[done.0] == done.1)
      #expect(try await Self.ask(rig, "HEAD", location, last).status == 404)
      let names = try FileManager.default.contentsOfDirectory(atPath: scratch("data/sync-uploads"))
      #expect(names == [])
    }
  }

  @Test func `bytes from a stalled connection are kept when the client reconnects`() async throws {
    let scratch = try Scratch()
    let text = Self.batch()
    try await Self.run(in: scratch("data")) { rig in
      let created = try await Self.ask(
        rig, "POST", "/api/sync",
        UploadFields(.current, length: text.utf8.count, isComplete: false), body: "")
      #expect(created.status == 201)
      let location = try #require(created.headers["location"])
      let hanging = try rig.client()
      try await hanging.tell(
        Self.head(
          "PATCH", location, UploadFields(.current, offset: 0, isComplete: true),
          length: text.utf8.count) + text.prefix(5_000))
      // Poll until the bytes have arrived. Each HEAD request ends the append in progress.
      var found: Int? = 0
      while found == 0 { found = try await Self.offset(rig, location, .current) }
      let offset = try #require(found)
      #expect((1...5_000).contains(offset))
      #expect(await hanging.isAtEnd())
      let answer = try await Self.ask(
        rig, "PATCH", location, UploadFields(.current, offset: offset, isComplete: true),
        body: String(text.dropFirst(offset)))
      #expect(answer.body == Self.stored)
    }
  }

  @Test func `a tus upload is created, interrupted, resumed and completed`() async throws {
    let scratch = try Scratch()
    let text = Self.batch()
    try await Self.run(in: scratch("data")) { rig in
      let options = try await rig.client().ask("OPTIONS", "/api/sync")
      #expect(options.status == 204)
      #expect(options.headers["tus-version"] == "1.0.0")
      #expect(options.headers["tus-extension"] == "creation,termination")
      let created = try await Self.ask(
        rig, "POST", "/api/sync", UploadFields(.tus, length: text.utf8.count), body: "")
      #expect(created.status == 201)
      #expect(created.headers["tus-resumable"] == "1.0.0")
      let location = try #require(created.headers["location"])
      let client = try rig.client()
      try await client.tell(
        Self.head(
          "PATCH", location, UploadFields(.tus, offset: 0), length: text.utf8.count)
          + text.prefix(5_000))
      var found: Int? = 0
      while found == 0 { found = try await Self.offset(rig, location, .tus) }
      let offset = try #require(found)
      let last = try await Self.ask(
        rig, "PATCH", location, UploadFields(.tus, offset: offset),
        body: String(text.dropFirst(offset)))
      #expect(last.status == 204)
      #expect(last.headers["upload-offset"] == "\(text.utf8.count)")
      let again = try await rig.client().ask(
        "POST", "/api/sync", token: Self.secret, body: text)
      #expect(again.body.contains("\"skippedDuplicates\":200"))
    }
  }

  @Test func `a completed upload is validated like any batch`() async throws {
    let scratch = try Scratch()
    try await Self.run(in: scratch("data")) { rig in
      for (text, coding, status) in [("[]", nil, 400), ("no gzip", "gzip", 400)] {
        let coding: String? = coding
        let created = try await rig.client().ask(
          "POST", "/api/sync", token: Self.secret,
          fields: Self.fields(UploadFields(.current, isComplete: false))
            + (coding.map { ["Content-Encoding: \($0)"] } ?? []), body: "")
        let location = try #require(created.headers["location"])
        let answer = try await Self.ask(
          rig, "PATCH", location, UploadFields(.current, offset: 0, isComplete: true), body: text)
        #expect(answer.status == status)
        #expect(answer.headers["upload-complete"] == "?1")
        let head = try await Self.ask(rig, "HEAD", location, UploadFields(.current))
        #expect(head.status == 404)
      }
    }
  }

  @Test func `a compressed batch uploaded in parts is stored`() async throws {
    let scratch = try Scratch()
    let text = Self.batch()
    let packed = try #require(GzipBody.deflate(Array(text.utf8)))
    try await Self.run(in: scratch("data")) { rig in
      let created = try await rig.client().ask(
        "POST", "/api/sync", token: Self.secret,
        fields: Self.fields(UploadFields(.current, isComplete: false))
          + ["Content-Encoding: gzip"], body: "")
      let location = try #require(created.headers["location"])
      let client = try SocketsClient(port: rig.address.port)
      for (part, from) in [(packed[..<100], 0), (packed[100...], 100)] {
        let isLast = from > 0
        let fields = UploadFields(.current, offset: from, isComplete: isLast)
        try client.send(Self.head("PATCH", location, fields, length: part.count))
        try client.send(Array(part))
        let answer = try client.response()
        #expect(answer.status == (isLast ? 200 : 204))
        if isLast { #expect(answer.body == Self.stored) }
      }
    }
  }

  @Test func `bytes in a file without a durable name are not acknowledged and the file is removed`()
    throws
  {
    let scratch = try Scratch()
    let record = UploadRecord(user: "ann", length: 4, isGzip: false)
    let id = UUID128(high: 1, low: 2)
    let failing = UploadFiles(syncedIn: scratch.path) { _ in
      errno = EIO
      return -1
    }
    #expect(throws: StoreFailure.self) { try failing.write([1, 2], to: id, record, at: 0) }
    let path = scratch("sync-uploads/\(id)")
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(failing.stored(at: Timestamp(nanoseconds: 0)) == [])
    let files = UploadFiles(syncedIn: scratch.path)
    #expect(try files.write([1, 2], to: id, record, at: 0) == 2)
    // The name is already durable, because only a new file requires a sync of its directory.
    #expect(try failing.write([3, 4], to: id, record, at: 2) == 4)
    #expect(try files.read(id, record, upTo: 4) == [1, 2, 3, 4])
  }

  @Test func `files that are not valid uploads are removed at startup`() async throws {
    let scratch = try Scratch()
    let directory = scratch("data/sync-uploads")
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    for name in ["odd", "00000000-0000-4000-8000-000000000001"] {
      try Data("{\"user\"".utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
    }
    try await Self.run(in: scratch("data")) { _ in
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(names == [])
    }
  }
}
