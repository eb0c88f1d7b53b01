import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Kills of phone and server, and answers that are lost, against the real `serve`.
@Suite(.timeLimit(.minutes(10))) struct SyncCrashTests {
  private static let steps = SyncRig.steps
  private static let heart = SyncRig.heart

  @Test func `after 50 kills the backend holds exactly what the phone has`() async throws {
    try await Self.torture(kills: 50, seed: 4)
  }

  /// What is left after many kills: nothing is lost, repeated, or kept although it was deleted.
  private static func torture(kills: Int, seed: UInt64) async throws {
    var chance = Dice(seed: seed)
    let rig = try SyncRig()
    var server = try await rig.serve()
    let proxy = try FaultProxy(upstream: UInt16(server.port))
    var minutes = Array(0..<400)
    var day = 2
    for kill in 0..<kills {
      if kill % 5 == 0 {
        // A newer export with more samples, and without some of the old ones.
        minutes.removeAll { $0 > 0 && chance.next() % 9 == 0 }
        let last = minutes.last ?? 0
        minutes += (1...300).map { last + $0 }
        try rig.export([(steps, minutes), (heart, minutes.map { $0 + 1 })], day: day)
        day += 1
        try await rig.importExport()
      }
      let process = try CommandProcess.start(
        rig.words("http://127.0.0.1:\(proxy.port)", SyncRig.quick))
      if kill % 3 == 1 {
        try await proxy.set(.blackhole(Blackhole(reach: .down, fate: .swallowed)))
      }
      // The kill is the subject: it comes at any moment.
      try await Task.sleep(for: .milliseconds(Int(chance.next() % 500)))
      if kill % 4 == 2 {
        server.process.signal(SIGKILL)
        _ = await server.process.exit()
      }
      process.signal(SIGKILL)
      _ = await process.exit()
      try await proxy.set(.reset)
      try await proxy.set(.pass)
      if kill % 4 == 2 { server = try await rig.serve(port: server.port) }
    }
    try await finish(rig, through: proxy)
    server.process.signal(SIGTERM)
    _ = await server.process.exit()
    let held = try await rig.held()
    #expect(held[steps] == minutes)
    #expect(held[heart] == minutes.map { $0 + 1 })
  }

  /// Sends the rest; then nothing is left.
  private static func finish(_ rig: SyncRig, through proxy: FaultProxy) async throws {
    let last = try await rig.sync("http://127.0.0.1:\(proxy.port)")
    #expect(last.status == 0, "\(last.errors)")
    #expect(rig.files == [])
    let again = try await rig.sync("http://127.0.0.1:\(proxy.port)")
    #expect(again.batches("sending").isEmpty)
  }

  @Test func `a full disk loses nothing`() async throws {
    let rig = try SyncRig()
    try rig.export([(Self.steps, Array(0..<3_000))])
    try await rig.importExport()
    // No file may grow: neither payloads nor the queue can be written.
    let words = rig.words("http://127.0.0.1:1", ["--once"])
    let line = "ulimit -f 0; exec \"$0\" \"$@\""
    let full = await CommandProcess.outcome(
      of: try LabProcess(["/bin/sh", "-c", line, CommandProcess.path] + words))
    #expect(full.status != 0)
    let server = try await rig.serve()
    let run = try await rig.sync(server.url)
    #expect(run.status == 0, "\(run.errors)")
    server.process.signal(SIGTERM)
    _ = await server.process.exit()
    #expect(try await rig.held()[Self.steps] == Array(0..<3_000))
  }
}

/// A sequence that a seed fixes.
private struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
