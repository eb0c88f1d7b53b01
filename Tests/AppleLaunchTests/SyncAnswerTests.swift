@_spi(Script) import BackgroundSession
import Foundation
import Holdfast
import HoldfastCore
import HoldfastHealthSync
import HoldfastSyncData
import HoldfastTestKit
import Testing

/// Tests of what follows each answer of the server to an upload that the system made.
///
/// `docs/health-sync.md` lists the answers and what follows them.
@Suite(.timeLimit(.minutes(60)))
struct SyncAnswerTests {
  private let phone: AnswerPhone

  init() throws { phone = try AnswerPhone() }

  @Test func `a success ends the upload`() async throws {
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.map(\.status) == [200])
    #expect(phone.server.stored == [1])
    #expect(try await phone.queued().batches == [])
  }

  @Test func `after 401 the token is read again, and the batch is sent with the next one`()
    async throws
  {
    phone.server.plan([.answer(401)]) { [phone] in phone.token = "token-2" }
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.map(\.status) == [401, 200])
    #expect(phone.server.attempts.map(\.token) == ["Bearer token-1", "Bearer token-2"])
    #expect(phone.server.stored == [1])
  }

  @Test func `after 401 nothing is sent until the token has changed`() async throws {
    phone.server.plan([.answer(401)])
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .secretRefused }
      #expect(phone.server.attempts.count == 1)
      phone.token = "token-2"
      sync.retryNow()
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.map(\.token) == ["Bearer token-1", "Bearer token-2"])
    #expect(phone.server.stored == [1])
  }

  @Test(arguments: [400, 403, 422])
  func `a batch that the server refuses is quarantined, and can be sent again`(
    status: Int
  ) async throws {
    phone.server.plan([.answer(status)])
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 1) }
      // `retryNow()` ends waits. It releases no batch.
      sync.retryNow()
      phone.add([2])
      await sync.waitUntil { [server = phone.server] in
        $0.state == .done(quarantined: 1) && server.stored == [2]
      }
    }
    let batch = try #require(try await phone.queued().batches.first)
    #expect(batch.quarantined?.contains("\(status)") == true)
    #expect(phone.numbers(inFile: batch.file) == [1])
    try await phone.release(batch)
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.map(\.status) == [status, 200, 200])
    #expect(phone.server.stored == [1, 2])
  }

  @Test func `after 413 the batch is divided until the server accepts its parts`() async throws {
    phone.server.limit = 1
    phone.add([1, 2, 3])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    let sizes = phone.server.attempts.map { "\($0.status): \($0.numbers.count)" }
    #expect(sizes.sorted() == ["200: 1", "200: 1", "200: 1", "413: 2", "413: 3"])
    #expect(phone.server.stored == [1, 2, 3])
  }

  @Test func `after 413 for a single sample, the batch is quarantined`() async throws {
    phone.server.limit = 0
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 1) }
    }
    let batch = try #require(try await phone.queued().batches.first)
    #expect(batch.quarantined?.hasPrefix("413") == true)
    #expect(phone.numbers(inFile: batch.file) == [1])
    #expect(phone.server.attempts.map(\.status) == [413])
  }

  @Test(arguments: [429, 500, 503])
  func `after a Retry-After nothing is sent before its end`(status: Int) async throws {
    phone.server.plan([.answer(status, headers: ["Retry-After": "1"])])
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { [server = phone.server] _ in server.attempts.count == 1 }
      // Neither a person nor another sample shortens the pause.
      phone.add([2])
      sync.retryNow()
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    let times = phone.server.attempts.map(\.time)
    let pause = try #require(times.dropFirst().min()) - (try #require(times.first))
    #expect(pause >= .seconds(1))
    #expect(phone.server.attempts.map(\.status).filter { $0 != 200 } == [status])
    #expect(phone.server.stored == [1, 2])
  }

  @Test(arguments: [500, 503])
  func `after a failure without Retry-After the schedule decides`(status: Int) async throws {
    phone.server.plan([.answer(status), .answer(status)])
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.map(\.status) == [status, status, 200])
    #expect(phone.server.stored == [1])
  }

  @Test func `what another host answers after a redirect is not the server's answer`()
    async throws
  {
    // The system follows redirects.
    let other = URL(string: "https://elsewhere.example/api/sync")
    phone.server.plan([
      .answer(200, body: "{\"success\":true}", url: other), .answer(401, url: other),
      .answer(403, url: other),
    ])
    phone.add([1])
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.count == 4)
    #expect(Set(phone.server.attempts.map(\.token)) == ["Bearer token-1"])
    #expect(phone.server.stored == [1])
  }

  @Test(arguments: [200, 401, 413, 429, 500, 503])
  func `an answer that comes after a kill has the same consequence in the next process`(
    status: Int
  ) async throws {
    phone.add([1, 2])
    phone.server.holdsUploads = true
    let upload = try await phone.run { _ in
      let upload = try await phone.server.held.next(within: .seconds(600))
      phone.kill()
      return upload
    }
    phone.server.holdsUploads = false
    phone.server.end(upload, .answer(status, headers: ["Retry-After": "0"]))
    phone.token = "token-2"
    try await phone.run { sync in
      await sync.waitUntil { $0.state == .done(quarantined: 0) }
    }
    #expect(phone.server.attempts.first?.status == status)
    #expect(phone.server.attempts.first?.token == "Bearer token-1")
    #expect(phone.server.attempts.dropFirst().allSatisfy { $0.token == "Bearer token-2" })
    #expect(phone.server.stored == [1, 2])
  }
}
