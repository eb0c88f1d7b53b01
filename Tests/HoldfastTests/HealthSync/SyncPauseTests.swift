import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import Holdfast

/// Tests of uploads that have not sent their payload when the server asks for a pause.
@Suite(.timeLimit(.minutes(60))) struct SyncPauseTests {
  private let clock = TestClock()
  private let network = FakeNetwork(clock: TestClock())
  private let events = Mailbox<UploadEvent>(of: "the end of an upload")
  private let files: PayloadFiles
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    files = PayloadFiles(in: scratch.path)
  }

  private static let resumesFrom = 1_000_000

  @Test(arguments: [429, 503])
  func `an upload that asks for the server's features sends nothing after a Retry-After`(
    status: Int
  ) async throws {
    let uploads = await open()
    let (small, large) = (try upload(10), try upload(Self.resumesFrom))
    await uploads.enqueue([large])
    let question = try await network.nextExchange()
    #expect(question.request.method == "OPTIONS")
    await uploads.enqueue([small])
    try await network.nextExchange().refuse(status, after: .seconds(60))
    #expect(try await ended() == UploadEvent(small, status, after: .seconds(60)))
    clock.advance(by: .seconds(20))
    question.respond(status: 405)
    #expect(try await ended() == UploadEvent(large, status, after: .seconds(40)))
    // The machine, which knows of the pause, decides when it sends the next upload.
    while await uploads.pause.known < 1 { await Task.yield() }
    await uploads.enqueue([small])
    try await network.nextExchange().respond(status: 200)
    #expect(try await ended().outcome == .accepted)
    await uploads.stop()
  }

  @Test func `an upload in pieces sends no further piece, and continues there later`()
    async throws
  {
    let uploads = await open()
    let (small, large) = (try upload(10), try upload(Self.resumesFrom))
    await uploads.enqueue([large])
    try await network.nextExchange().respond(
      status: 204, headers: ["Tus-Version": "1.0.0", "Tus-Extension": "creation"])
    let creation = try await network.nextExchange()
    #expect(creation.request.method == "POST")
    await uploads.enqueue([small])
    try await network.nextExchange().refuse(503, after: .seconds(60))
    #expect(try await ended() == UploadEvent(small, 503, after: .seconds(60)))
    creation.respond(status: 201, headers: ["Location": "/api/sync/1", "Upload-Offset": "0"])
    #expect(try await ended() == UploadEvent(large, 503, after: .seconds(60)))
    while await uploads.pause.known < 1 { await Task.yield() }
    await uploads.enqueue([large])
    let next = try await network.nextExchange().request
    #expect([next.method, next.url] == ["HEAD", "https://server.example/api/sync/1"])
    await uploads.stop()
  }

  @Test func `the answer to a question also pauses the upload that asked it`() async throws {
    let uploads = await open()
    let large = try upload(Self.resumesFrom)
    await uploads.enqueue([large])
    try await network.nextExchange().refuse(503, after: .seconds(60))
    #expect(try await ended() == UploadEvent(large, 503, after: .seconds(60)))
    await uploads.stop()
  }

  @Test(arguments: [(429, .zero), (429, nil), (500, .seconds(60))] as [(Int, Duration?)])
  func `an answer that concerns one batch, or asks for no pause, ends one upload`(
    status: Int, retryAfter: Duration?
  ) async throws {
    let uploads = await open()
    let (small, large) = (try upload(10), try upload(Self.resumesFrom))
    await uploads.enqueue([large])
    let question = try await network.nextExchange()
    await uploads.enqueue([small])
    try await network.nextExchange().refuse(status, after: retryAfter)
    #expect(try await ended() == UploadEvent(small, status, after: retryAfter))
    question.respond(status: 405)
    try await network.nextExchange().respond(status: 200)
    #expect(try await ended().outcome == .accepted)
    await uploads.stop()
  }

  /// Opens a queue of uploads whose ends are in `events`.
  private func open() async -> HTTPUploads {
    let uploads = HTTPUploads(
      server: "https://server.example", http: network, files: files,
      resumesFrom: Self.resumesFrom, clock: clock
    ) { () throws(LinkFailure) in "secret" }
    await uploads.events { [events] in events.put($0) }
    return uploads
  }

  private func ended() async throws -> UploadEvent {
    try await events.next(within: .seconds(600))
  }

  /// Writes a payload of a number of bytes, which compresses badly.
  private func upload(_ bytes: Int) throws -> FileUpload {
    var random = RandomSource(seed: 1)
    let payload = (0..<bytes).map { _ in UInt8.random(in: 32...126, using: &random) }
    return FileUpload(file: try files.write(payload), type: "a", bytes: bytes)
  }
}

extension FakeExchange {
  fileprivate func refuse(_ status: Int, after retryAfter: Duration?) {
    answer(.success(HTTPAnswer(status: status, headers: [:], body: [], retryAfter: retryAfter)))
  }
}

extension UploadEvent {
  /// The end of an upload that the server refused.
  fileprivate init(_ upload: FileUpload, _ status: Int, after retryAfter: Duration?) {
    self.init(
      file: upload.file,
      outcome: .failed(.http(status: status, retryAfter: retryAfter, detail: "")))
  }
}
