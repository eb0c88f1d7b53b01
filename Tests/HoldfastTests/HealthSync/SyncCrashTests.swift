import Foundation
import Glibc
import HoldfastTestKit
import LinkCore
import LinkRuntime
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
    let clock = BootClock()
    var chance = Dice(seed: seed)
    let rig = try SyncRig()
    var server = try await rig.serve()
    let proxy = try FaultProxy(upstream: UInt16(server.port))
    var minutes = Array(0..<400)
    for kill in 0..<kills {
      if kill % 5 == 0 {
        // A newer export with more samples, and without some of the old ones.
        minutes = changed(minutes, &chance)
        try rig.export([(steps, minutes), (heart, minutes.map { $0 + 1 })], day: 2 + kill / 5)
        try await rig.importExport()
      }
      let process = try CommandProcess.start(
        rig.words("http://127.0.0.1:\(proxy.port)", SyncRig.quick))
      if kill % 3 == 1 {
        try await proxy.set(.blackhole(Blackhole(reach: .down, fate: .swallowed)))
      }
      // The kill is the subject: it comes at any moment.
      try await clock.wait(
        until: clock.now.advanced(by: .milliseconds(Int(chance.next() % 500))))
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

  private static func changed(_ minutes: [Int], _ chance: inout Dice) -> [Int] {
    var kept = minutes.filter { _ in chance.next() % 9 > 0 }
    if kept.first != 0 { kept.insert(0, at: 0) }
    let last = kept.last ?? 0
    return kept + (1...300).map { last + $0 }
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
