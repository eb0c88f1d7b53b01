import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of uploads that resume after an interruption, with the real phone and backend.
@Suite(.timeLimit(.minutes(60))) struct SyncResumeTests {
  private static let steps = SyncRig.steps

  /// Returns a rig with samples that make a batch of about 250 kB before compression.
  private static func many() async throws -> SyncRig {
    let rig = try SyncRig()
    try rig.export([(steps, Array(0..<1_000))])
    try await rig.importExport()
    return rig
  }

  /// The options of a run that resumes uploads of any size.
  private static let resuming = ["--resume-from", "1"]

  @Test func `after a cut the second attempt sends only the rest`() async throws {
    let rig = try await Self.many()
    let server = try await rig.serve()
    let proxy = try FaultProxy(upstream: UInt16(server.port))
    try await proxy.set(.rate(bytesPerSecond: 4_000))
    let phone = try CommandProcess.start(
      rig.arguments("http://127.0.0.1:\(proxy.port)", ["--once"] + SyncRig.quick + Self.resuming))
    _ = await proxy.traffic(reaches: { $0.bytesUp > Self.inTheMiddle })
    let size = try rig.payloadBytes()
    #expect(size > 2 * Self.inTheMiddle, "the cut must come in the middle of \(size) bytes")
    try await proxy.set(.cut)
    try await proxy.set(.pass)
    #expect(await phone.exit() == 0)
    let sent = await proxy.traffic.bytesUp
    // No byte that arrived before the cut was sent again. The surplus consists of request heads.
    #expect(sent > size)
    #expect(sent < size + Self.inTheMiddle / 2, "\(sent) for \(size)")
    #expect(rig.files == [])
    try await Self.end(server.process)
    #expect(try await rig.held()[Self.steps] == Array(0..<1_000))
  }

  /// The number of bytes sent, over all requests, after which a test interrupts the upload.
  private static let inTheMiddle = 9_000

  @Test(arguments: [true, false])
  func `a kill during an upload sends no bytes twice`(killsServer: Bool) async throws {
    let rig = try await Self.many()
    var server = try await rig.serve()
    let proxy = try FaultProxy(upstream: UInt16(server.port))
    let url = "http://127.0.0.1:\(proxy.port)"
    try await proxy.set(.rate(bytesPerSecond: 4_000))
    let phone = try CommandProcess.start(rig.arguments(url, SyncRig.quick + Self.resuming))
    // This point is in the body: after the earlier requests, but before the end of this one.
    _ = await proxy.traffic(reaches: { $0.bytesUp > Self.inTheMiddle })
    phone.signal(SIGKILL)
    _ = await phone.exit()
    try await proxy.set(.cut)
    try await proxy.set(.pass)
    if killsServer {
      server.process.signal(SIGTERM)
      _ = await server.process.exit()
      server = try await rig.serve(port: server.port)
    }
    let size = try rig.payloadBytes()
    let before = await proxy.traffic.bytesUp
    let run = try await CommandProcess.run(rig.arguments(url, ["--once"] + Self.resuming))
    #expect(run.status == 0, "\(run.errors)")
    let rest = await proxy.traffic.bytesUp - before
    #expect(rest < size, "\(rest) of \(size)")
    try await Self.end(server.process)
    #expect(try await rig.held()[Self.steps] == Array(0..<1_000))
  }

  @Test func `a server without resumable uploads gets each payload in one request`() async throws {
    let rig = try await Self.many()
    try await SyncPeer.run("[]") { peer in
      let run = try await rig.sync(peer.url, "--resume-from", "1")
      #expect(run.status == 0, "\(run.errors)")
      #expect(rig.files == [])
      let seen = try await peer.requests()
      #expect(seen.map { $0["path"] as? String } == ["/api/sync", "/api/sync/refresh"])
    }
  }

  private static func end(_ process: LabProcess) async throws {
    process.signal(SIGTERM)
    _ = await process.exit()
  }
}

extension SyncRig {
  /// Returns the size of the only waiting payload after compression.
  fileprivate func payloadBytes() throws -> Int {
    let file = try #require(files.first { !$0.hasSuffix(".upload") })
    let ticket = try String(
      decoding: scratch.bytes(of: "phone/health-sync/\(file).upload"), as: UTF8.self)
    let size = try #require([String: Any].reading(ticket)["size"] as? Int)
    return size
  }
}
