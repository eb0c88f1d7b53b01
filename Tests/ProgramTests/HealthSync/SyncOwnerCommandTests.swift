import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of `holdfast health sync` after a change of the server or user, and after a backup is
/// restored.
///
/// When the command exits with 0, the server stores all samples of the phone.
@Suite(.timeLimit(.minutes(60))) struct SyncOwnerCommandTests {
  private static let steps = SyncRig.steps

  private static func end(_ process: LabProcess) async {
    process.signal(SIGTERM)
    _ = await process.exit()
  }

  /// Replaces a file or directory with a copy of another.
  private static func put(_ from: String, to: String) throws {
    try? FileManager.default.removeItem(atPath: to)
    try FileManager.default.copyItem(atPath: from, toPath: to)
  }

  @Test func `another server or another person receives all samples of the phone`() async throws {
    let rig = try SyncRig()
    try rig.scratch.write(
      Array("ann \(SyncRig.secret) Etc/UTC\nbob yet-another-secret Etc/UTC\n".utf8), to: "secrets")
    try rig.export([(Self.steps, Array(0..<10))])
    try await rig.importExport()
    let first = try await rig.serve(in: "a")
    let second = try await rig.serve(in: "b")
    #expect(try await rig.sync(first.url).status == 0)
    let run = try await rig.sync(second.url)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.events.contains { $0["kind"] as? String == "reads-again" })
    #expect(try await rig.held(in: "b")[Self.steps] == Array(0..<10))
    try rig.scratch.write(Array("yet-another-secret\n".utf8), to: "secret")
    #expect(try await rig.sync(second.url).status == 0)
    #expect(try await rig.held(in: "b", of: "bob")[Self.steps] == Array(0..<10))
    let status = try await CommandProcess.run("health", "status", "--data", rig.data, "--json")
    let events = try status.output.map { try [String: Any].reading($0) }
    let owner = try #require(events.first { $0["event"] as? String == "owner" })
    #expect(owner["server"] as? String == second.url)
    #expect(owner["user"] as? String == "bob")
    #expect((owner["epoch"] as? String)?.count == 16)
    let again = try await rig.sync(second.url)
    #expect(again.batches("queued").isEmpty, "the owner has not changed")
    await Self.end(first.process)
    await Self.end(second.process)
  }

  @Test func `a server restored from a backup receives what it lost, including deletions`()
    async throws
  {
    let rig = try SyncRig()
    try rig.export([(Self.steps, Array(0..<10))])
    try await rig.importExport()
    var server = try await rig.serve()
    #expect(try await rig.sync(server.url).status == 0)
    await Self.end(server.process)
    try Self.put(rig.scratch("server"), to: rig.scratch("backup"))
    server = try await rig.serve(port: server.port)
    // Add ten samples, and delete one.
    let newer = (0..<20).filter { $0 != 5 }
    try rig.export([(Self.steps, newer)], day: 3)
    try await rig.importExport()
    #expect(try await rig.sync(server.url).status == 0)
    #expect(try await rig.held()[Self.steps] == newer)
    await Self.end(server.process)
    try Self.put(rig.scratch("backup"), to: rig.scratch("server"))
    server = try await rig.serve(port: server.port, "--new-epoch")
    // The phone has no new samples.
    let run = try await rig.sync(server.url)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try await rig.held()[Self.steps] == newer)
    await Self.end(server.process)
  }

  /// Sends the samples of 60 days from two exports. A server without data then receives all of
  /// them.
  @Test func `a server without data receives everything that was ever sent, not only 30 days`()
    async throws
  {
    let rig = try SyncRig()
    var server = try await rig.serve()
    let (early, late) = ([10, 20], [20 * 1_440, 20 * 1_440 + 1])
    for (minutes, day) in [(early, 2), (early + late, 28)] {
      try rig.export([(Self.steps, minutes)], day: day)
      try await rig.importExport()
      #expect(try await rig.sync(server.url).status == 0)
    }
    // This export has the same samples but a later date, so the first samples are outside its 30
    // days.
    try await rig.importExport(try Self.february(rig))
    await Self.end(server.process)
    try FileManager.default.removeItem(atPath: rig.scratch("server"))
    server = try await rig.serve(port: server.port)
    let run = try await rig.sync(server.url)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try await rig.held()[Self.steps] == early + late)
    await Self.end(server.process)
  }

  /// Writes a copy of the latest export with the date February 27, and returns its name.
  private static func february(_ rig: SyncRig) throws -> String {
    let text = try rig.scratch.text(of: "export.xml")
    let later = text.replacing(
      "<ExportDate value=\"2026-01-28", with: "<ExportDate value=\"2026-02-27")
    #expect(later != text)
    try rig.scratch.write(Array(later.utf8), to: "february.xml")
    return "february.xml"
  }

  @Test func `a restored health store is read again if its history differs`()
    async throws
  {
    let rig = try SyncRig()
    let server = try await rig.serve()
    try rig.export([(Self.steps, [1])], second: 0)
    try await rig.importExport()
    #expect(try await rig.sync(server.url).status == 0)
    let store = rig.scratch("phone/health.sqlite")
    try Self.put(store, to: rig.scratch("backup.sqlite"))
    for count in 2...4 {
      try rig.export([(Self.steps, Array(1...count))], second: count)
      try await rig.importExport()
    }
    #expect(try await rig.sync(server.url).status == 0)
    for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + end) }
    try Self.put(rig.scratch("backup.sqlite"), to: store)
    // These are as many changes as the backup lost, but they affect other samples.
    for count in 1...3 {
      try rig.export([(Self.steps, [1] + (1...count).map { 100 + $0 })], second: 10 + count)
      try await rig.importExport()
    }
    #expect(try await rig.sync(server.url).status == 0)
    let held = Set(try await rig.held()[Self.steps] ?? [])
    #expect(held.isSuperset(of: [1, 101, 102, 103]))
    await Self.end(server.process)
  }

  /// Restores data of a phone whose stamps are ahead of the clock.
  ///
  /// Seven pages that are sent within two seconds have stamps up to six seconds ahead of the clock.
  /// The data are restored immediately. Deletions after that must have later stamps than everything
  /// that the phone has sent.
  /// has sent.
  @Test func `changes of a phone with restored data take effect immediately`() async throws {
    let rig = try SyncRig()
    let server = try await rig.serve()
    func sync() async throws { #expect(try await rig.sync(server.url).status == 0) }
    try rig.export([(Self.steps, [0])], day: 25)
    try await rig.importExport()
    try await sync()
    try Self.put(rig.data, to: rig.scratch("backup"))
    try rig.export([(Self.steps, Array(0...12_000))], day: 26)
    try await rig.importExport()
    try await sync()
    try Self.put(rig.scratch("backup"), to: rig.data)
    // Sample 11,999 was on one of the last pages. The first export adds it again. The second export
    // lacks it.
    for (minutes, second) in [([0, 11_999, 12_000], 1), ([0, 12_000], 2)] {
      try rig.export([(Self.steps, minutes)], day: 27, second: second)
      try await rig.importExport()
    }
    try await sync()
    let held = Set(try await rig.held()[Self.steps] ?? [])
    #expect(held == Set(0...12_000).subtracting([11_999]))
    await Self.end(server.process)
  }

  @Test func `a response that reports a failed store is not accepted`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, [1, 2])])
    try await rig.importExport()
    let denied = Array(repeating: "\"denied\"", count: 50).joined(separator: ",")
    try await SyncPeer.run("[\(denied)]") { peer in
      let run = try await rig.sync(
        peer.url, "--set", "retry.first=100ms,100ms", "--set", "retry.serverJitter=1ms")
      #expect(run.status == 6)
      #expect(run.records("accepted") == 0)
      #expect(rig.files.count == 1)
      let retrying = try #require(run.batches("retrying").first)
      #expect((retrying["reason"] as? String)?.contains("database is locked") == true)
      #expect(try await rig.status()["synced"] as? Int == 0)
    }
    try await SyncPeer.run("[\"denied\"]") { peer in
      let run = try await CommandProcess.run(rig.arguments(peer.url, ["--once"] + SyncRig.quick))
      #expect(run.status == 0, "\(run.errors)")
      #expect(rig.files == [])
    }
  }
}
