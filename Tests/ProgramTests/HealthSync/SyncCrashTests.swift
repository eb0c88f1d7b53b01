import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of killed phones and servers, lost responses and full disks, with the real `serve`.
@Suite(.timeLimit(.minutes(60))) struct SyncCrashTests {
  private static let steps = SyncRig.steps

  @Test func `after 10 kills the backend stores exactly the samples of the phone`() async throws {
    try await SyncTorture.run(kills: 10, seed: 4)
  }

  @Test func `a full disk loses nothing`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, Array(0..<3_000))])
    try await rig.importExport()
    // No file can grow, so neither payloads nor the queue can be written.
    let arguments = rig.arguments("http://127.0.0.1:1", ["--once"])
    let line = "ulimit -f 0; exec \"$0\" \"$@\""
    let full = await CommandProcess.outcome(
      of: try LabProcess(["/bin/sh", "-c", line, CommandProcess.path] + arguments))
    #expect(full.status != 0)
    let server = try await rig.serve()
    let run = try await rig.sync(server.url)
    #expect(run.status == 0, "\(run.errors)")
    server.process.signal(SIGTERM)
    _ = await server.process.exit()
    #expect(try await rig.held()[Self.steps] == Array(0..<3_000))
  }
}
