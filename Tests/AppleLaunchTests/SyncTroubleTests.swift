@_spi(Script) import BackgroundSession
import Foundation
@_spi(Script) import HealthKit
import Holdfast
import HoldfastCore
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of a phone whose disk, clock or permission changes during a sync.
@Suite(.timeLimit(.minutes(60)))
struct SyncTroubleTests {
  private let phone: AnswerPhone

  init() throws { phone = try AnswerPhone() }

  @Test func `a clock that is set back by a year changes neither the wait nor the order of stamps`()
    async throws
  {
    let clock = ShiftedClock()
    phone.server.plan([.answer(503, headers: ["Retry-After": "1"])]) {
      clock.shift(by: .seconds(-365 * 86_400))
    }
    phone.add([1])
    try await phone.run(clock: clock) { sync in
      await sync.waitUntil { [server = phone.server] _ in server.attempts.count == 1 }
      phone.add([2])
      await sync.waitUntil { [server = phone.server] in
        $0.state == .done(quarantined: 0) && server.stored == [1, 2]
      }
    }
    let attempts = phone.server.attempts
    let times = attempts.map(\.time)
    let pause = try #require(times.dropFirst().min()) - (try #require(times.first))
    #expect(pause >= .seconds(1))
    let stamps = attempts.map(\.stamp)
    #expect(stamps == stamps.sorted() && !stamps.contains(""))
  }

  @Test func `a permission that is withdrawn between two launches loses and deletes nothing`()
    async throws
  {
    phone.server.plan([.answer(403)])
    phone.add([1])
    try await phone.run { sync in await sync.waitUntil { $0.state == .done(quarantined: 1) } }
    let batch = try #require(try await phone.queued().batches.first)
    try await phone.release(batch)

    // What was read before is sent. Nothing else can be read.
    phone.health.requirePermission()
    phone.add([2])
    try await phone.run { sync in
      await sync.waitUntil { [server = phone.server] in
        if case .unreadable = $0.state { server.stored == [1] } else { false }
      }
    }

    try await phone.askForPermission()
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.stored == [1, 2])
    #expect(phone.server.attempts.allSatisfy { $0.deletions == 0 })
    #expect(phone.health.misuses == [])
  }
}

#if canImport(Glibc)
  import Glibc

  extension SyncTroubleTests {
    @Test(.enabled(if: geteuid() == 0, "needs root to mount a disk"))
    func `on a full disk nothing is sent that is not stored, and nothing is lost`() async throws {
      let path = phone.scratch.path
      guard unsafe mount("tmpfs", path, "tmpfs", 0, "size=8m,mode=700") == 0 else {
        try Test.cancel("mounting is not allowed here")
      }
      defer { unsafe umount2(path, Int32(MNT_DETACH)) }
      phone.add([1])
      try await phone.run { sync in
        await sync.waitUntil { $0.state == .done(quarantined: 0) }
        let filler = try Self.fill(phone.scratch("filler"))
        phone.add([2])
        await sync.waitUntil { if case .unwritable(.full) = $0.state { true } else { false } }
        #expect(phone.server.stored == [1])
        try FileManager.default.removeItem(atPath: filler)
        sync.retryNow()
        await sync.waitUntil { [server = phone.server] in
          $0.state == .done(quarantined: 0) && server.stored == [1, 2]
        }
      }
      #expect(phone.server.stored == [1, 2])
    }

    /// Fills the disk of a file.
    private static func fill(_ path: String) throws -> String {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
      let handle = try #require(FileHandle(forWritingAtPath: path))
      for size in [65_536, 4_096, 1] {
        let block = Data(repeating: 1, count: size)
        while (try? handle.write(contentsOf: block)) != nil {}
      }
      // Closing the file must not fail because of the full disk.
      try? handle.close()
      return path
    }
  }
#endif

/// A clock whose wall time can be set.
private final class ShiftedClock: LinkClock {
  private let base = BootClock()
  private let offset = Mutex(Duration.zero)

  var now: Instant { base.now }
  var wall: Timestamp { base.wall.advanced(by: offset.withLock(\.self)) }

  func shift(by duration: Duration) { offset.withLock { $0 += duration } }

  func wait(until deadline: Instant) async throws(CancellationError) {
    try await base.wait(until: deadline)
  }
}
