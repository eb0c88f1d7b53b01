import Foundation
import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastProtocols
import HoldfastServerParts
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of HealthSync over real sockets, with real files.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SyncBackendTests {
  private static let secret = "hush-hush-hush-hush"

  /// Runs `body` against a backend with two users.
  private static func run(
    in directory: String? = nil, store: (any SyncStore)? = nil,
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    let file = scratch("secrets")
    try Data("ann \(secret) Etc/UTC\nben the-other-secret\n".utf8)
      .write(to: URL(fileURLWithPath: file))
    try await BackendRig.run(
      in: directory ?? scratch("data"), more: [store].compactMap(\.self),
      {
        $0.syncSecretFile = file
        $0.assistants.originPolicy.hosts = ["test"]
      }, body)
  }

  private static func post(
    _ client: BackendClient, _ body: String, secret: String = secret, fields: [String] = []
  ) async throws -> SocketsClient.Response {
    try await client.ask("POST", "/api/sync", token: secret, fields: fields, body: body)
  }

  private static func text(_ batch: SyncBatch) -> String {
    String(decoding: batch.bytes, as: UTF8.self)
  }

  private static func batch(
    _ records: [SyncRecord], deleted: [UInt64] = []
  ) -> String {
    text(
      SyncBatch(
        dataType: SyncSamples.steps, records: records,
        deletedUUIDs: deleted.map(SyncSamples.uuid), timestamp: SyncSamples.time(1_000)))
  }

  @Test func `a batch is stored once, and its deletions are applied`() async throws {
    try await Self.run { rig in
      let client = try rig.client()
      let body = Self.batch([
        SyncSamples.record(1_768_766_400, uuid: 1), SyncSamples.record(1_768_766_401, uuid: 2),
      ])
      let first = try await Self.post(client, body)
      #expect(first.status == 200)
      #expect(
        first.body
          == #"{"success":true,"inserted":{"records":2,"workouts":0},"skippedDuplicates":0}"#)
      #expect(first.headers["accept-encoding"] == "gzip")
      let again = try await Self.post(client, body)
      #expect(
        again.body
          == #"{"success":true,"inserted":{"records":0,"workouts":0},"skippedDuplicates":2}"#)
      #expect(try await Self.steps(client) == #"[{"date":"2026-01-18","steps":2}]"#)
      #expect(try await Self.steps(client, secret: "the-other-secret") == "[]")
      _ = try await Self.post(client, Self.batch([], deleted: [1]))
      #expect(try await Self.steps(client) == #"[{"date":"2026-01-18","steps":1}]"#)
    }
  }

  /// Returns the daily steps of a user as JSON.
  private static func steps(
    _ client: BackendClient, secret: String = secret
  ) async throws -> String {
    let answer = try await client.ask(
      "GET", "/api/health/steps?from=2026-01-01&to=2026-01-31", token: secret)
    #expect(answer.status == 200)
    let daily = try #require(answer.body.firstRange(of: "\"daily\":"))
    let energy = try #require(answer.body.firstRange(of: ",\"energy\""))
    return String(answer.body[daily.upperBound..<energy.lowerBound])
  }

  @Test func `five wrong secrets lock out an address, and repeated ones count once`() async throws {
    try await Self.run { rig in
      let client = try rig.client()
      for number in 0..<5 {
        for _ in 0..<(number == 0 ? 9 : 1) {
          #expect(try await Self.post(client, "{}", secret: "guess-\(number)").status == 401)
        }
      }
      #expect(try await Self.post(client, "{}", secret: "guess-4").status == 401)
      for secret in ["guess-5", Self.secret] {
        let locked = try await Self.post(client, "{}", secret: secret)
        #expect(locked.status == 429 && locked.body.contains("Too many wrong secrets"))
        #expect(locked.headers["retry-after"].flatMap { Int($0) }.map { $0 > 880 } == true)
      }
      let answer = try await client.ask("GET", "/api/health/steps", token: Self.secret)
      #expect(answer.status == 429)
      #expect(try await client.ask("GET", "/api/sync").status == 200)
    }
  }

  @Test func `each batch is a commit in the metrics, also one that fails`() async throws {
    let store = MemorySyncStore()
    try await Self.run(store: store) { rig in
      let client = try rig.client()
      func count() async throws -> Substring? {
        let start = #"holdfast_store_commit_seconds_count{service="sync"} "#
        let lines = try await client.ask("GET", "/metrics").body.split(separator: "\n")
        return lines.first { $0.hasPrefix(start) }?.dropFirst(start.count)
      }
      #expect(try await Self.post(client, "{").status == 400)
      #expect(try await count() == nil)
      let body = Self.batch([SyncSamples.record(1_768_766_400, uuid: 1)])
      #expect(try await Self.post(client, body).status == 200)
      #expect(try await count() == "1")
      await store.failNext(1, with: .full(detail: "no space"))
      #expect(try await Self.post(client, body).status == 503)
      #expect(try await count() == "2")
    }
  }

  @Test func `stored samples persist across a restart`() async throws {
    let scratch = try Scratch()
    let body = Self.batch([SyncSamples.record(1_768_766_400)])
    try await Self.run(in: scratch.path) { rig in
      let client = try rig.client()
      #expect(try await Self.post(client, body).status == 200)
    }
    try await Self.run(in: scratch.path) { rig in
      let client = try rig.client()
      #expect(
        try await Self.post(client, body).body
          == #"{"success":true,"inserted":{"records":0,"workouts":0},"skippedDuplicates":1}"#)
      #expect(try await Self.steps(client) == #"[{"date":"2026-01-18","steps":1}]"#)
    }
  }

  @Test(arguments: [
    "[]", "17", "", "null", "{", #"{"dataType":"t","records":[{"recordType":"r"}]}"#,
  ])
  func `an invalid batch receives 400 with a reason and is not stored`(body: String) async throws {
    try await Self.run { rig in
      let client = try rig.client()
      let answer = try await Self.post(client, body)
      #expect(answer.status == 400)
      #expect(answer.body.hasPrefix(#"{"error":"Bad request","details":""#))
    }
  }

  @Test func `a body with invalid UTF-8 receives 400`() async throws {
    try await Self.run { rig in
      let socket = try SocketsClient(port: rig.address.port)
      let body = Array(#"{"dataType":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
      try socket.send(
        "POST /api/sync HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(Self.secret)\r\n"
          + "Content-Length: \(body.count)\r\n\r\n")
      try socket.send(body)
      #expect(try socket.response().status == 400)
    }
  }

  @Test(arguments: [
    #","value":1e21"#, "", #","value":null,"valueText":null"#, #","value":1e400"#,
    #","value":-0,"unit":null"#,
  ])
  func `unusual but valid values are stored`(members: String) async throws {
    try await Self.run { rig in
      let time = "2026-01-18T20:00:00Z"
      let answer = try await Self.post(
        try rig.client(),
        #"{"dataType":"t","records":[{"recordType":"r","sourceName":"s","startTime":"\#(time)","#
          + #""endTime":"\#(time)"\#(members)}]}"#)
      #expect(answer.status == 200)
      #expect(answer.body.contains(#""records":1"#))
    }
  }

  @Test func `a Content-Length of 4 GiB receives 413 before the body is read`() async throws {
    try await Self.run { rig in
      let answer = try await rig.client().speak(
        "POST /api/sync HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(Self.secret)\r\n"
          + "Content-Length: 4294967296\r\n\r\n")
      #expect(answer.status == 413)
      #expect(answer.body.contains("message"))
    }
  }

  @Test func `accepts a compressed body and refuses one that is damaged or too long`() async throws
  {
    try await Self.run { rig in
      let plain = Self.batch([SyncSamples.record(1_768_766_400)])
      let packed = try #require(GzipBody.deflate(Array(plain.utf8)))
      let long = try #require(
        GzipBody.deflate([UInt8](repeating: 0x20, count: SyncServerPolicy.maxBodyBytes + 1)))
      for (body, status) in [(packed, 200), (Array(packed.dropLast(9)), 400), (long, 413)] {
        let socket = try SocketsClient(port: rig.address.port)
        try socket.send(
          "POST /api/sync HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(Self.secret)\r\n"
            + "Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
        try socket.send(body)
        let answer = try socket.response()
        #expect(answer.status == status)
        #expect(answer.body.contains(status == 200 ? #""records":1"# : "error"))
      }
      let client = try rig.client()
      #expect(
        try await Self.post(client, plain, fields: ["Content-Encoding: zstd"]).status == 415)
    }
  }

  @Test func `only clients with a secret can sync and read`() async throws {
    try await Self.run { rig in
      let client = try rig.client()
      #expect(
        try await client.ask("GET", "/api/sync").body == #"{"status":"ok","endpoint":"sync"}"#)
      let others: [SyncPath] = [.sync, .dashboard, .upload]
      for path in SyncPath.allCases where !others.contains(path) {
        let method = path == .refresh ? "POST" : "GET"
        #expect(try await client.ask(method, path.rawValue).status == 401)
        #expect(try await client.ask(method, path.rawValue, token: "guess").status == 401)
        let question = path == .daily ? "?type=\(SyncSamples.steps)" : ""
        #expect(
          try await client.ask(method, path.rawValue + question, token: Self.secret).status == 200)
      }
      #expect(
        try await Self.post(client, "[]", secret: "guess").body == #"{"error":"Unauthorized"}"#)
      for line in rig.lines.all { #expect(!line.contains("hush") && !line.contains("guess")) }
    }
  }

  @Test func `a store failure receives 503, stores nothing and appears in the health`()
    async throws
  {
    let store = MemorySyncStore()
    try await Self.run(store: store) { rig in
      let client = try rig.client()
      let body = Self.batch([SyncSamples.record(1_768_766_400)])
      await store.failNext(1, with: .full(detail: "/srv/secret.sqlite"))
      let answer = try await Self.post(client, body)
      #expect(answer.status == 503)
      #expect(answer.headers["retry-after"] == "30")
      #expect(!answer.body.contains("/srv"))
      #expect(
        try await client.ask("GET", "/healthz").body
          == #"{"status":"failing","reason":"the disk of the sync store is full"}"#)
      #expect(try await Self.steps(client) == "[]")
      #expect(try await Self.post(client, body).status == 200)
      #expect(try await client.ask("GET", "/healthz").body == #"{"status":"ok"}"#)
    }
  }

  @Test func `a full disk receives 503, and a batch is stored once there is space`()
    async throws
  {
    let scratch = try Scratch()
    guard geteuid() == 0, unsafe mount("tmpfs", scratch.path, "tmpfs", 0, "size=4m") == 0 else {
      try Test.cancel("mounting is not allowed here")
    }
    defer { unsafe umount2(scratch.path, Int32(MNT_DETACH)) }
    // The backend closes a connection on which no request arrives within 10 s. On a busy machine, the
    // work on so many records can take longer.
    let records = (0..<4_000).map { SyncSamples.record(1_768_766_400 + Int64($0)) }
    let (many, few) = (Self.batch(records), Self.batch(Array(records.prefix(500))))
    try await Self.run(in: scratch.path) { rig in
      var disk = statvfs()
      #expect(unsafe statvfs(scratch.path, &disk) == 0)
      let free = Int(disk.f_bavail) * Int(disk.f_frsize)
      try scratch.write([UInt8](repeating: 1, count: free - 50_000), to: "filler")
      let client = try rig.client()
      #expect(try await Self.post(client, many).status == 503)
      #expect(try await Self.steps(client) == "[]")
      try FileManager.default.removeItem(atPath: scratch("filler"))
      var answer = try await Self.post(client, few)
      // The store may notice the room only with a later attempt.
      for _ in 0..<200 where answer.status == 503 { answer = try await Self.post(client, few) }
      #expect(answer.body.contains(#""records":500"#), "\(answer)")
    }
  }
}
