import Foundation
import Glibc
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

/// A test with the real `serve` that repeatedly kills the phone and the server, and loses
/// responses.
enum SyncTorture {
  private static let steps = SyncRig.steps
  private static let heart = SyncRig.heart

  /// The number of kills for the long variant, or `nil` if it was not requested.
  static let longKills = ProcessInfo.processInfo.environment["HOLDFAST_SYNC_KILLS"].flatMap {
    Int($0)
  }

  /// Kills the phone and the server many times, and checks the samples that the backend stores.
  ///
  /// No sample may be lost, duplicated, or kept after its deletion.
  static func run(kills: Int, seed: UInt64) async throws {
    let clock = BootClock()
    var generator = Dice(seed: seed)
    let rig = try SyncRig()
    var (server, minutes) = (try await rig.serve(), Array(0..<400))
    let proxy = try FaultProxy(upstream: UInt16(server.port))
    for kill in 0..<kills {
      if kill % 5 == 0 {
        // The newer export has more samples, and lacks some of the old ones.
        minutes = changed(minutes, &generator)
        try rig.export(
          [(steps, minutes), (heart, minutes.map { $0 + 1 })], day: 2 + min(26, kill / 5),
          second: kill)
        try await rig.importExport()
      }
      // Every second run of the phone uses resumable uploads.
      let resuming = kill % 2 == 0 ? [] : ["--resume-from", "1"]
      let process = try CommandProcess.start(
        rig.arguments("http://127.0.0.1:\(proxy.port)", SyncRig.quick + resuming))
      if kill % 3 == 1 {
        try await proxy.set(.blackhole(Blackhole(reach: .down, fate: .swallowed)))
      }
      // The kill comes at a random time, which is the purpose of this test.
      let moment = Duration.milliseconds(Int(generator.next() % 500))
      try await clock.wait(until: clock.now.advanced(by: moment))
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
    #expect(try await rig.held() == [steps: minutes, heart: minutes.map { $0 + 1 }])
  }

  private static func changed(_ minutes: [Int], _ generator: inout Dice) -> [Int] {
    var remaining = minutes.filter { _ in generator.next() % 9 > 0 }
    if remaining.first != 0 { remaining.insert(0, at: 0) }
    let last = remaining.last ?? 0
    // The export covers one month. Once the month is full, samples are only removed.
    let more = (1...300).map { last + $0 }.filter { $0 < 43_000 }
    return remaining + more
  }

  /// Sends all remaining samples, and checks that nothing is left to send.
  private static func finish(_ rig: SyncRig, through proxy: FaultProxy) async throws {
    let last = try await rig.sync("http://127.0.0.1:\(proxy.port)")
    #expect(last.status == 0, "\(last.errors)")
    #expect(rig.files == [])
    let again = try await rig.sync("http://127.0.0.1:\(proxy.port)")
    #expect(again.batches("sending").isEmpty)
  }
}

/// The long variant of the test, which `make kills` runs.
@Suite(.timeLimit(.minutes(180))) struct LongSyncCrashTests {
  @Test(.enabled(if: SyncTorture.longKills != nil, "HOLDFAST_SYNC_KILLS=N runs it"))
  func `after many kills the backend stores exactly the samples of the phone`() async throws {
    try await SyncTorture.run(kills: SyncTorture.longKills ?? 0, seed: 5)
  }
}

/// A random source with a fixed seed.
private struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
