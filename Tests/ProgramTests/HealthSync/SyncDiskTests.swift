import Foundation
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc

  /// Tests of `holdfast health sync` on a full disk and on a read-only disk.
  @Suite(.enabled(if: geteuid() == 0, "needs root to mount a disk"), .timeLimit(.minutes(60)))
  struct SyncDiskTests {
    private static let steps = SyncRig.steps

    /// Runs `body` with a phone whose data directory is on a separate disk and contains samples.
    private static func lend(
      _ size: String, _ body: (SyncRig) async throws -> Void
    ) async throws {
      let rig = try SyncRig()
      guard unsafe mkdir(rig.data, 0o700) == 0,
        unsafe mount("tmpfs", rig.data, "tmpfs", 0, "size=\(size),mode=700") == 0
      else { try Test.cancel("mounting is not allowed here") }
      defer { unsafe umount2(rig.data, Int32(MNT_DETACH)) }
      try rig.export([(steps, Array(0..<3_000))])
      try await rig.importExport()
      try await body(rig)
    }

    /// Sends all samples, and checks that the backend stores every sample.
    private static func recover(_ rig: SyncRig) async throws {
      let server = try await rig.serve()
      let run = try await rig.sync(server.url)
      #expect(run.status == 0, "\(run.errors)")
      server.process.signal(SIGTERM)
      _ = await server.process.exit()
      #expect(rig.files == [])
      #expect(try await rig.held()[steps] == Array(0..<3_000))
    }

    @Test func `a full disk is reported, and nothing is lost once there is room`() async throws {
      try await Self.lend("32m") { rig in
        let filler = rig.data + "/filler"
        _ = FileManager.default.createFile(atPath: filler, contents: nil)
        let handle = try #require(FileHandle(forWritingAtPath: filler))
        let block = Data(repeating: 1, count: 4_096)
        while (try? handle.write(contentsOf: block)) != nil {}
        try handle.close()
        let full = try await rig.sync("http://127.0.0.1:1")
        #expect(full.status == 1, "\(full.errors)")
        #expect(
          full.errors.contains { $0.contains("No space left") || $0.contains("full") },
          "\(full.errors)")
        // A child process of another test may keep the file open, so that its space remains
        // allocated.
        #expect(unsafe truncate(filler, 0) == 0)
        try FileManager.default.removeItem(atPath: filler)
        try await Self.recover(rig)
      }
    }

    @Test func `a read-only disk is reported, and nothing is sent from it`() async throws {
      try await Self.lend("16m") { rig in
        try await SyncPeer.run("[]") { peer in
          let flags = UInt(MS_REMOUNT) | UInt(MS_RDONLY)
          #expect(unsafe mount("tmpfs", rig.data, "tmpfs", flags, nil) == 0)
          let run = try await rig.sync(peer.url)
          #expect(run.status == 1, "\(run.errors)")
          #expect(
            run.errors.contains { $0.lowercased().contains("read-only") }, "\(run.errors)")
          #expect(unsafe mount("tmpfs", rig.data, "tmpfs", UInt(MS_REMOUNT), nil) == 0)
          let seen = try await peer.requests().filter { $0["path"] as? String == "/api/sync" }
          #expect(seen.isEmpty)
        }
        try await Self.recover(rig)
      }
    }
  }
#endif
