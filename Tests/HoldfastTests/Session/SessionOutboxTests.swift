import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastSession
import HoldfastTestKit
import Testing

/// Tests of the prompts that a session stores while it has no server.
@Suite(.timeLimit(.minutes(60))) struct SessionOutboxTests {
  /// Opens a session with the key of a backend.
  private static func session(
    _ url: String, _ scratch: Scratch, key: String = "key"
  ) async throws -> HeldSession {
    try await HeldSession(
      SessionConfiguration(url, storage: .directory(scratch("phone"))) { key })
  }

  @Test func `stores 1,000 prompts without a server, refuses one more, and sends them later`()
    async throws
  {
    let scratch = try Scratch()
    let session = try await Self.session("ws://127.0.0.1:1/session", scratch)
    for (first, count, waiting) in [(1, 999, 999), (1_000, 1, 1_000), (1_001, 1, 1_000)] {
      for number in first..<first + count { session.prompt("\(number)") }
      await session.waitUntil { $0.queue.unstoredCount == 0 }
      #expect(await session.snapshot.unanswered == waiting)
    }
    var refused: [String] = []
    await session.close()
    for await update in session {
      if case .prompt(let prompt, _) = update, prompt.state == .failed {
        refused.append(prompt.text)
      }
    }
    #expect(refused == ["1001"])
    try await sendsTheFirst(50, scratch)
  }

  /// Checks that the next run sends the first `count` prompts, in order.
  ///
  /// The method does not wait for all prompts: in a debug build, each step checks every waiting
  /// prompt.
  private func sendsTheFirst(_ count: Int, _ scratch: Scratch) async throws {
    let backend = Backend(BackendConfiguration(dataDirectory: scratch("data")))
    let url = try await backend.start().session
    let key = try scratch.text(of: "data/session-key")
    let session = try await Self.session(url, scratch, key: key)
    var pending: [[String]] = []
    var shown: [String] = []
    for await update in session {
      if case .pending(let prompts) = update { pending.append(prompts.map(\.text)) }
      guard case .message(let entry, _, _) = update else { continue }
      shown.append(entry.text)
      if shown.count == count { break }
    }
    #expect(pending == [(1...1_000).map { "\($0)" }])
    #expect(shown == (1...count).map { "\($0)" })
    await session.close()
    await backend.kill()
  }
}
