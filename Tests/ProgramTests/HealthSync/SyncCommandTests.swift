import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast health sync`, `status`, `retry` and `reset` with a server that follows a
/// plan.
@Suite(.timeLimit(.minutes(60))) struct SyncCommandTests {
  private static let steps = SyncRig.steps
  private static let heart = SyncRig.heart

  /// Returns a rig whose data directory contains ten samples of steps, in minutes 0 to 9.
  private static func ten() async throws -> SyncRig {
    let rig = try SyncRig()
    try rig.export([(steps, Array(0..<10))])
    try await rig.importExport()
    return rig
  }

  @Test func `imported samples are sent once, and a second run sends nothing`() async throws {
    let rig = try await Self.ten()
    try await SyncPeer.run("[]") { peer in
      let first = try await rig.sync(peer.url)
      #expect(first.status == 0, "\(first.errors)")
      #expect(first.records("accepted") == 10)
      for state in ["queued", "sending"] { #expect(first.records(state) == 10) }
      #expect(first.type()?["synced"] as? Int == 10)
      #expect(first.type()?["pending"] as? Int == 0)
      #expect(rig.files == [])
      let second = try await rig.sync(peer.url)
      #expect(second.status == 0)
      #expect(second.batches("sending").isEmpty)
      #expect(try await rig.status()["synced"] as? Int == 10)
      let seen = try await peer.requests()
      #expect(seen.map { $0["path"] as? String } == ["/api/sync", "/api/sync/refresh"])
      #expect(seen[0]["secret"] as? String == "Bearer \(SyncRig.secret)")
      #expect(seen[0]["encoding"] is NSNull)
    }
  }

  @Test func `accepts the endpoint's full URL, and compresses bodies if offered`()
    async throws
  {
    let rig = try await Self.ten()
    try await SyncPeer.run("[415]", offers: "br, gzip") { peer in
      #expect(try await rig.sync(peer.url + "/api/sync/").status == 0)
      let seen = try await peer.requests()
      #expect(seen.map { $0["encoding"] as? String } == ["gzip", nil, nil])
      #expect(seen[0]["values"] as? [Int] == Array(0..<10))
      #expect(seen[1]["values"] as? [Int] == Array(0..<10))
    }
  }

  @Test func `a newer export deletes exactly the missing samples, by UUID`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, Array(0..<10)), (Self.heart, [3])])
    try await rig.importExport()
    try await SyncPeer.run("[]") { peer in
      #expect(try await rig.sync(peer.url).status == 0)
      try rig.export([(Self.steps, [1, 2, 5, 8, 20]), (Self.heart, [3])], day: 3, to: "newer.xml")
      try await rig.importExport("newer.xml")
      let run = try await rig.sync(peer.url)
      #expect(run.status == 0)
      #expect(run.batches("accepted").map { $0["deletions"] as? Int } == [6])
      let seen = try await peer.requests().filter { $0["path"] as? String == "/api/sync" }
      let sent = try #require(
        seen.first { $0["type"] as? String == Self.steps && ($0["values"] as? [Int])?.count == 10 })
      let uuids = try #require(sent["uuids"] as? [String])
      let last = try #require(seen.last)
      let deleted = Set([0, 3, 4, 6, 7, 9].map { uuids[$0] })
      #expect(Set(try #require(last["deleted"] as? [String])) == deleted)
      #expect(last["values"] as? [Int] == [20])
    }
  }

  @Test func `a corrected workout is stored once, and a deleted weight is removed`() async throws {
    let rig = try SyncRig()
    func export(_ start: String, _ weight: String, day: Int) throws {
      let text = """
        <HealthData><ExportDate value="2026-01-0\(day) 12:00:00 +0000"/>\(weight)
        <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="App" duration="30"
        durationUnit="min" startDate="2026-01-01 18:\(start):00 +0000"
        endDate="2026-01-01 19:00:00 +0000"/></HealthData>
        """
      try rig.scratch.write(Array(text.utf8), to: "export.xml")
    }
    let weight = """
      <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Scale" unit="kg" value="815"
      startDate="2026-01-01 08:00:00 +0000" endDate="2026-01-01 08:00:00 +0000"/>
      """
    let server = try await rig.serve()
    try export("30", weight, day: 2)
    try await rig.importExport()
    #expect(try await rig.sync(server.url).status == 0)
    #expect(try await rig.starts() == ["2026-01-01T08:00:00Z", "2026-01-01T18:30:00Z"])
    try export("28", "", day: 3)
    try await rig.importExport()
    #expect(try await rig.sync(server.url).status == 0)
    #expect(try await rig.starts() == ["2026-01-01T18:28:00Z"])
    server.process.signal(SIGTERM)
    _ = await server.process.exit()
  }

  @Test(arguments: ["500", "[429, 0]", "503", "\"cut\"", "\"lost\"", "408", "308"])
  func `a temporary failure is retried and quarantines nothing`(step: String) async throws {
    let rig = try await Self.ten()
    try await SyncPeer.run("[\(step), \(step), \(step)]") { peer in
      let run = try await CommandProcess.run(rig.arguments(peer.url, ["--once"] + SyncRig.quick))
      #expect(run.status == 0, "\(run.errors)")
      let seen = try await peer.requests().filter { $0["path"] as? String == "/api/sync" }
      #expect(seen.count == 4)
      #expect(try await rig.status()["quarantined"] as? Int == 0)
      #expect(rig.files == [])
    }
  }

  @Test func `honors Retry-After`() async throws {
    let rig = try await Self.ten()
    try await SyncPeer.run("[[429, 2]]") { peer in
      let start = ContinuousClock.now
      let run = try await CommandProcess.run(rig.arguments(peer.url, ["--once"] + SyncRig.quick))
      #expect(run.status == 0)
      #expect(start.duration(to: .now) >= .seconds(2))
    }
  }

  @Test func `splits batches after 413 until the server accepts them`() async throws {
    let rig = try await Self.ten()
    try await SyncPeer.run("[]", limit: 900) { peer in
      let run = try await rig.sync(peer.url)
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.records("accepted") == 10)
      #expect(rig.files == [])
      let seen = try await peer.requests().filter { $0["status"] as? Int == 200 }
      #expect(seen.flatMap { $0["values"] as? [Int] ?? [] } == Array(0..<10))
    }
  }

  @Test func `a refused secret ends with 3, and a new secret sends the rest`() async throws {
    let rig = try await Self.ten()
    try await SyncPeer.run("[401]") { peer in
      let run = try await rig.sync(peer.url)
      #expect(run.status == 3)
      #expect(run.errors.last?.contains("the server refuses the secret") == true)
      #expect(rig.files.count == 1)
      try rig.scratch.write(Array("other\n".utf8), to: "secret")
      #expect(try await rig.sync(peer.url).status == 0)
      let seen = try await peer.requests()
      #expect(
        seen.prefix(2).map { $0["secret"] as? String } == [
          "Bearer \(SyncRig.secret)", "Bearer other",
        ])
    }
  }

  @Test func `a refused batch is quarantined, reported, and retried on request`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, [1]), (Self.heart, [2])])
    try await rig.importExport()
    try await SyncPeer.run("[400]") { peer in
      let run = try await rig.sync(peer.url)
      #expect(run.status == 1)
      let quarantined = try #require(run.batches("quarantined").first)
      let reason = "the server answered 400 (bad request): as planned"
      #expect(quarantined["reason"] as? String == reason)
      let type = try #require(quarantined["type"] as? String)
      #expect(run.records("accepted") == 1)
      #expect(try await rig.status(type)["quarantined"] as? Int == 1)
      let plain = try await CommandProcess.run("health", "status", "--data", rig.data)
      #expect(plain.output.contains { $0.contains(reason) })
      #expect(try await rig.sync(peer.url).status == 1)
      let retry = try await CommandProcess.run("health", "retry", "--data", rig.data)
      #expect(retry.output == ["1 batch waits for the next sync"])
      #expect(try await rig.sync(peer.url).status == 0)
      #expect(try await rig.status(type)["quarantined"] as? Int == 0)
      #expect(try await peer.requests().count { $0["path"] as? String == "/api/sync" } == 3)
    }
  }

  @Test func `without a server it ends with 6, and the next run sends the waiting batches`()
    async throws
  {
    let rig = try await Self.ten()
    let fewTries = ["--set", "retry.first=100ms,100ms", "--set", "retry.serverJitter=1ms"]
    let run = try await CommandProcess.run(
      rig.arguments("http://127.0.0.1:1", ["--once"] + fewTries))
    #expect(run.status == 6)
    #expect(rig.files.count == 1)
    try await SyncPeer.run("[]") { peer in
      let next = try await rig.sync(peer.url)
      #expect(next.status == 0)
      #expect(next.batches("queued").isEmpty)
      #expect(next.records("accepted") == 10)
    }
  }

  @Test func `a server that fails during a run ends it with 6`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, [1]), (Self.heart, [2])])
    try await rig.importExport()
    let failures = Array(repeating: "503", count: 50).joined(separator: ",")
    try await SyncPeer.run("[200,\(failures)]") { peer in
      let run = try await rig.sync(
        peer.url, "--set", "retry.first=100ms,100ms", "--set", "retry.serverJitter=1ms")
      #expect(run.status == 6)
      #expect(run.records("accepted") == 1)
      #expect(run.events.contains { $0["kind"] as? String == "unreachable" })
    }
  }

  @Test func `a reset reads the last 30 days again`() async throws {
    let rig = try await Self.ten()
    try await SyncPeer.run("[]") { peer in
      #expect(try await rig.sync(peer.url).status == 0)
      let reset = try await CommandProcess.run("health", "reset", "stepcount", "--data", rig.data)
      #expect(reset.output == ["StepCount is read anew by the next sync"])
      let run = try await rig.sync(peer.url)
      #expect(run.records("accepted") == 10)
      #expect(run.type()?["synced"] as? Int == 10)
    }
    let unknown = try await CommandProcess.run("health", "reset", "nothing", "--data", rig.data)
    #expect(unknown.status == 2)
  }

  @Test(arguments: [["reset", "stepcount"], ["retry"]])
  func `a missing data directory is not created`(_ arguments: [String]) async throws {
    let rig = try SyncRig()
    let wrong = rig.data + "-wrong"
    let run = try await CommandProcess.run(["health"] + arguments + ["--data", wrong])
    #expect(run.status == 1)
    #expect(run.errors.count == 1 && run.errors[0].contains("There is no store at \(wrong)/"))
    #expect(!FileManager.default.fileExists(atPath: wrong))
  }

  @Test func `reads only the named types`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, [1]), (Self.heart, [2])])
    try await rig.importExport()
    try await SyncPeer.run("[]") { peer in
      #expect(try await rig.sync(peer.url, "--types", "HeartRate").status == 0)
      let seen = try await peer.requests().filter { $0["path"] as? String == "/api/sync" }
      #expect(seen.map { $0["type"] as? String } == [Self.heart])
    }
  }

  @Test func `at first omits samples that begin more than 30 days before the export`()
    async throws
  {
    let rig = try SyncRig()
    // The export is dated January 31, 12:00. The limit is 30 days earlier: January 1, 12:00, minute
    // 720.
    try rig.export([(Self.steps, [719, 720, 721])], day: 31)
    try await rig.importExport()
    try await SyncPeer.run("[]") { peer in
      #expect(try await rig.sync(peer.url).status == 0)
      // Samples that a later export adds are sent even if they are older.
      try rig.export([(Self.steps, [5, 719, 720, 721])], day: 31, to: "newer.xml")
      try await rig.importExport("newer.xml")
      #expect(try await rig.sync(peer.url).status == 0)
      let seen = try await peer.requests().filter { $0["path"] as? String == "/api/sync" }
      #expect(seen.map { $0["values"] as? [Int] } == [[720, 721], [5]])
    }
  }

  @Test func `a watched export is imported and sent, and again after each change`()
    async throws
  {
    let rig = try SyncRig()
    try rig.export([(Self.steps, [1, 2, 3])])
    try await SyncPeer.run("[]") { peer in
      let process = try CommandProcess.start(
        rig.arguments(peer.url, ["--watch", rig.scratch("export.xml")]))
      let lines = LineReader(process.lines)
      func accepted() async throws -> [String: Any] {
        while case let line = await lines.next(), !line.isEmpty {
          let event: [String: Any] = try .reading(line)
          if event["state"] as? String == "accepted" { return event }
        }
        return [:]
      }
      #expect(try await accepted()["records"] as? Int == 3)
      try rig.export([(Self.steps, [1, 3, 4])], day: 3)
      // One request, or two if the first was on its way before the deletion was found.
      var (records, deletions) = (0, 0)
      while records < 1 || deletions < 1, case let next = try await accepted(), !next.isEmpty {
        records += next["records"] as? Int ?? 0
        deletions += next["deletions"] as? Int ?? 0
      }
      #expect(records == 1 && deletions == 1)
      let second = try await rig.sync(peer.url)
      #expect(second.status == 1)
      process.signal(SIGTERM)
      #expect(await process.exit() == 0)
    }
  }

  @Test func `files are private, and no file contains the secret`() async throws {
    let rig = try await Self.ten()
    _ = try await CommandProcess.run(
      rig.arguments(
        "http://127.0.0.1:1",
        ["--once", "--set", "retry.first=100ms", "--journal", rig.scratch("journal")]))
    let file = try #require(rig.files.first)
    #expect(try rig.scratch.mode(of: "phone/health-sync/\(file)") == 0o600)
    #expect(try rig.scratch.mode(of: "phone/health-sync") == 0o700)
    let names = try FileManager.default.subpathsOfDirectory(atPath: rig.data)
    for name in names.map({ "phone/\($0)" }) + ["journal"] {
      guard let bytes = try? rig.scratch.bytes(of: name) else { continue }
      #expect(!String(decoding: bytes, as: UTF8.self).contains(SyncRig.secret), "\(name)")
    }
    let replay = try await CommandProcess.run("replay", rig.scratch("journal"))
    #expect(replay.status == 0, "\(replay)")
  }

  @Test func `error messages state the cause`() async throws {
    let rig = try await Self.ten()
    let cases: [([String], Int32, String)] = [
      (["--set", "liveness.ping=1s"], 2, "liveness.ping has no meaning for health-sync"),
      (["--types", "Nothing"], 2, "Nothing is not a known type"),
      (["--secret-file", rig.scratch("secrets")], 1, "does not contain a secret alone"),
      (["--secret-file", rig.scratch("nowhere")], 1, "cannot be read"),
      (["--once", "--watch", rig.scratch("nowhere")], 1, "nowhere"),
    ]
    for (more, status, text) in cases {
      var arguments = [
        "health", "sync", "--server", "http://127.0.0.1:1", "--data", rig.data,
      ]
      if !more.contains("--secret-file") { arguments += ["--secret-file", rig.scratch("secret")] }
      let run = try await CommandProcess.run(arguments + more)
      #expect(run.status == status, "\(more): \(run)")
      #expect(run.errors.contains { $0.contains(text) }, "\(more): \(run.errors)")
    }
  }
}
