import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import Synchronization
import Testing

@testable import Holdfast

/// Tests of the calls that uploads make to the source of their secret.
@Suite(.timeLimit(.minutes(60))) struct SyncSecretTests {
  private let clock = TestClock()
  private let calls = Calls()

  @Test func `a source that does not answer fails the request, and the next one calls it again`()
    async throws
  {
    let scratch = try Scratch()
    let silence = Mailbox<String>()
    let uploads = uploads(scratch) { call in
      call == 1 ? await silence.next() ?? "" : "secret"
    }
    let first = Task {
      await #expect(throws: LinkFailure.self) { try await uploads.identify() }
    }
    await clock.advanceToNextDeadline()
    let late = "there is no secret: the source did not answer within 10s"
    #expect(await first.value == .local(detail: late))
    _ = try await uploads.identify()
    #expect(calls.count == 2)
    await uploads.stop()
  }

  @Test func `the first requests of all types share one call`() async throws {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    let all = try (0..<3).map { _ in
      FileUpload(file: try files.write(Array("{}".utf8)), type: "a", bytes: 2)
    }
    let (called, secrets) = (Mailbox<Int>(), Mailbox<String>())
    let uploads = uploads(scratch) { call in
      called.put(call)
      return await secrets.next() ?? ""
    }
    let (events, continuation) = AsyncStream.makeStream(of: UploadEvent.self)
    await uploads.events { continuation.yield($0) }
    await uploads.enqueue(all)
    #expect(await called.next() == 1)
    secrets.put("secret")
    var ends = events.makeAsyncIterator()
    for _ in all { #expect(await ends.next()?.outcome == .accepted) }
    #expect(calls.count == 1)
    await uploads.stop()
  }

  @Test func `a stop ends the wait for the secret`() async throws {
    let (called, silence) = (Mailbox<Int>(), Mailbox<String>())
    let uploads = uploads(try Scratch()) { call in
      called.put(call)
      return await silence.next() ?? ""
    }
    let renewal = Task { await uploads.renewSecret() }
    #expect(await called.next() == 1)
    await uploads.stop()
    #expect(await !renewal.value)
  }

  /// Returns uploads to a server that accepts everything. The source receives the number of its
  /// call.
  private func uploads(
    _ scratch: Scratch, source: @escaping @Sendable (Int) async -> String
  ) -> HTTPUploads {
    let network = FakeNetwork(clock: TestClock())
    network.serve(requests: { _ in .success(HTTPAnswer(status: 200, headers: [:], body: [])) })
    return HTTPUploads(
      server: "https://server.example", http: network, files: PayloadFiles(in: scratch.path),
      resumesFrom: 65_536, secretLimit: .seconds(10), clock: clock
    ) { [calls] () throws(LinkFailure) in
      await source(calls.next())
    }
  }
}

/// The number of calls of a source.
private final class Calls: Sendable {
  private let made = Mutex(0)

  var count: Int { made.withLock(\.self) }

  func next() -> Int {
    made.withLock { made in
      made += 1
      return made
    }
  }
}
