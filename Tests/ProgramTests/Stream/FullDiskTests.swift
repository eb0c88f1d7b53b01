import Foundation
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc

  /// Tests of a phone whose disk fills up.
  @Suite(.timeLimit(.minutes(60))) struct FullDiskTests {
    @Test(.enabled(if: geteuid() == 0, "needs root to mount a small disk"))
    func `is named by a stream that does not finish in time`() async throws {
      let scratch = try Scratch()
      guard unsafe mount("tmpfs", scratch.path, "tmpfs", 0, "size=200k") == 0 else {
        try Test.cancel("mounting is not allowed here")
      }
      defer { unsafe umount2(scratch.path, Int32(MNT_DETACH)) }
      try await CommandShop.run { shop in
        try await shop.post((1...20).map { _ in String(repeating: "x", count: 9_000) })
        let outcome = try await CommandProcess.run(
          shop.arguments(
            "stream", ["--data", scratch("phone"), "--json", "--once", "--duration", "15s"]),
          environment: ["HOLDFAST_TOKEN": try await shop.token()])
        #expect(outcome.status == 1)
        let cause = "\(scratch("phone"))/timeline.sqlite: database or disk is full (SQLite 13)."
        #expect(
          outcome.errors.last?.hasPrefix("holdfast stream: \(cause)") == true,
          "\(outcome.errors)")
      }
    }
  }
#endif
