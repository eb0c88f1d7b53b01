import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads
import Synchronization
import Testing

@testable import Holdfast

/// Tests of the implementations of a sync's ports, with the contract suites of the test kit.
@Suite(.timeLimit(.minutes(60))) struct SyncPortTests {
  private static let steps = "HKQuantityTypeIdentifierStepCount"

  private static func samples(_ count: Int, before wall: Timestamp) -> [HealthSample] {
    (1...count).map { minute in
      let time = wall.advanced(by: .seconds(-60 * minute))
      return HealthSample(
        type: steps, value: .quantity(Double(minute)), unit: "count", start: time, end: time,
        source: "watch")
    }
  }

  @Test func `the source of imported samples meets the health source contract`() async throws {
    let clock = BootClock()
    let store = MemoryHealthStore()
    try await healthSourceContract(StoredHealthSource(store, clock: clock), type: Self.steps) {
      try await store.add(Self.samples($0, before: clock.wall))
    }
    await store.close()
  }

  @Test func `an anchor of a replaced store makes all samples of the new store count as new`()
    async throws
  {
    let scratch = try Scratch()
    let wall = BootClock().wall
    let anchor = try await Self.read(scratch("old"), adding: Self.samples(3, before: wall)).anchor
    let month = Self.samples(1, before: wall.advanced(by: .seconds(-90 * 86_400)))
    let page = try await Self.read(
      scratch("new"), adding: Self.samples(2, before: wall) + month, after: anchor)
    #expect(page.added.count == 3)
  }

  @Test func `an anchor newer than a restored store makes all its samples count as new`()
    async throws
  {
    let scratch = try Scratch()
    let wall = BootClock().wall
    _ = try await Self.read(scratch("now"), adding: Self.samples(1, before: wall))
    try FileManager.default.copyItem(atPath: scratch("now"), toPath: scratch("then"))
    let later = Self.samples(5, before: wall)
    let anchor = try await Self.read(scratch("now"), adding: Array(later.dropFirst())).anchor
    let page = try await Self.read(scratch("then"), adding: [later[4]], after: anchor)
    #expect(page.added.count == 2)
  }

  /// Adds each sample to the store of a directory in a separate change, and returns the changes
  /// after an anchor.
  private static func read(
    _ directory: String, adding samples: [HealthSample], after anchor: HealthAnchor? = nil
  ) async throws -> SourcePage {
    let store = try await HoldfastPlatform.healthStore(in: directory)
    for sample in samples { _ = try await store.add([sample]) }
    let start = anchor.map { HealthPageStart.after($0) } ?? .last(.seconds(30 * 86_400))
    let page = try await StoredHealthSource(store).page(steps, from: start, limit: 100)
    await store.close()
    return page
  }

  @Test func `the fake source meets the health source contract`() async throws {
    let source = FakeHealthSource()
    try await healthSourceContract(source, type: Self.steps) { count in
      let samples = Self.samples(count, before: Timestamp(nanoseconds: 1_700_000_000_000_000_000))
      source.add(
        samples.enumerated().map {
          SourceSample(uuid: UUID128(high: 1, low: UInt64($0.offset)), sample: $0.element)
        })
    } remove: {
      source.remove($0, of: Self.steps)
    }
  }

  /// A source that omits the last sample of each page with more than one sample.
  private struct Forgetful: HealthSource {
    let source = FakeHealthSource()

    func observe(
      _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
    ) async { await source.observe(types, fired) }

    func page(
      _ type: String, from start: HealthPageStart, limit: Int
    ) async throws(HealthSourceFailure) -> SourcePage {
      var page = try await source.page(type, from: start, limit: limit)
      if page.added.count > 1 { page.added.removeLast() }
      return page
    }

    func stop() async { await source.stop() }
  }

  @Test func `a source that leaves out a change breaks the contract`() async throws {
    let forgetful = Forgetful()
    let failure = await #expect(throws: ContractViolation.self) {
      try await healthSourceContract(forgetful, type: Self.steps) { count in
        let samples = Self.samples(count, before: Timestamp(nanoseconds: 1_700_000_000_000_000_000))
        forgetful.source.add(
          samples.enumerated().map {
            SourceSample(uuid: UUID128(high: 1, low: UInt64($0.offset)), sample: $0.element)
          })
      }
    }
    #expect(failure?.description.contains("a page leaves out no change") == true)
  }

  private static let good = [
    FileUpload(file: "a.json", type: steps, bytes: 2),
    FileUpload(file: "b.json", type: steps, bytes: 2),
  ]
  private static let missing = FileUpload(file: "none.json", type: steps, bytes: 2)

  @Test func `only the list of types can be read before the first unlock of the device`() throws {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    #expect(files.listFile.isReadableWhileLocked)
    files.keep(asked: ["HKQuantityTypeIdentifierStepCount"])
    // Nothing but names of types.
    #expect(try scratch.text(of: "health-sync-types") == "HKQuantityTypeIdentifierStepCount")
  }

  @Test func `HTTP uploads meet the upload queue contract`() async throws {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    let good = try (0..<2).map { _ in
      FileUpload(file: try files.write(Array("{}".utf8)), type: Self.steps, bytes: 2)
    }
    let network = FakeNetwork(clock: TestClock())
    network.serve(requests: { _ in .success(HTTPAnswer(status: 200, headers: [:], body: [])) })
    let uploads = HTTPUploads(
      server: "https://server.example", http: network, files: files, resumesFrom: 65_536
    ) { () throws(LinkFailure) in "secret" }
    try await uploadQueueContract(uploads, good: good, unreadable: Self.missing)
  }

  @Test func `a stop of HTTP uploads waits for the delivery in progress`() async throws {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    let upload = FileUpload(file: try files.write(Array("{}".utf8)), type: Self.steps, bytes: 2)
    let network = FakeNetwork(clock: TestClock())
    network.serve(requests: { _ in .success(HTTPAnswer(status: 200, headers: [:], body: [])) })
    let uploads = HTTPUploads(
      server: "https://server.example", http: network, files: files, resumesFrom: 65_536
    ) { () throws(LinkFailure) in "secret" }
    let (steps, begun, released) = (Mailbox<String>(), Mailbox<Void>(), Mailbox<Void>())
    await uploads.events { _ in
      begun.put(())
      _ = await released.next()
      steps.put("delivered")
    }
    await uploads.enqueue([upload])
    _ = await begun.next()
    let stopping = Task {
      await uploads.stop()
      steps.put("stopped")
    }
    // The stop has begun once it has ended the use of the secret.
    while await uploads.refresh() == nil {}
    released.put(())
    await stopping.value
    #expect(await steps.next() == "delivered")
    #expect(await steps.next() == "stopped")
  }

  @Test func `the error of a refused resumable upload does not contain the secret`() async throws {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    let body = [UInt8](repeating: UInt8(ascii: "1"), count: 100)
    let upload = FileUpload(file: try files.write(body), type: Self.steps, bytes: body.count)
    let network = FakeNetwork(clock: TestClock())
    let offer = UploadOffer.options(maxSize: 1_000_000)
    network.serve(requests: { request in
      guard request.method == "OPTIONS" else {
        let error = Array(#"{"error":"not with gXq72-secret"}"#.utf8)
        return .success(HTTPAnswer(status: 503, headers: [:], body: error))
      }
      let fields = offer.map { ($0.name.lowercased(), $0.value) }
      return .success(
        HTTPAnswer(status: 204, headers: Dictionary(uniqueKeysWithValues: fields), body: []))
    })
    let uploads = HTTPUploads(
      server: "https://server.example", http: network, files: files, resumesFrom: 10
    ) { () throws(LinkFailure) in "gXq72-secret" }
    let (events, continuation) = AsyncStream.makeStream(of: UploadEvent.self)
    await uploads.events { continuation.yield($0) }
    await uploads.enqueue([upload])
    let event = await events.first { _ in true }
    let refused = LinkFailure.http(status: 503, retryAfter: nil, detail: "not with [token]")
    #expect(event == UploadEvent(file: upload.file, outcome: .failed(refused)))
    await uploads.stop()
  }

  @Test func `an upload resumes from the ticket in its file, and its end removes the ticket`()
    async throws
  {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    let body = [UInt8](repeating: UInt8(ascii: "1"), count: 100)
    let upload = FileUpload(file: try files.write(body), type: Self.steps, bytes: body.count)
    let url = "https://server.example/api/sync/upload?id=1"
    files.keep(UploadTicket(.current, url: url, of: body, isGzip: false), of: upload.file)
    let asked = Mutex<[String]>([])
    let network = FakeNetwork(clock: TestClock())
    network.serve(requests: { request in
      asked.withLock { $0.append("\(request.method) \(request.body.count)") }
      switch request.method {
      case "OPTIONS": return .failure(.reset)
      case "HEAD":
        let fields = ["upload-offset": "7", "upload-complete": "?0"]
        return .success(HTTPAnswer(status: 204, headers: fields, body: []))
      case _: return .success(HTTPAnswer(status: 200, headers: [:], body: []))
      }
    })
    let uploads = HTTPUploads(
      server: "https://server.example", http: network, files: files, resumesFrom: 10
    ) { () throws(LinkFailure) in "secret" }
    let (events, continuation) = AsyncStream.makeStream(of: UploadEvent.self)
    await uploads.events { continuation.yield($0) }
    await uploads.enqueue([upload])
    let event = await events.first { _ in true }
    #expect(event == UploadEvent(file: upload.file, outcome: .accepted))
    #expect(asked.withLock(\.self) == ["OPTIONS 0", "HEAD 0", "PATCH 93"])
    #expect(files.ticket(of: upload.file) == nil)
    await uploads.stop()
  }

  @Test func `concurrent uploads share one OPTIONS request`() async throws {
    let scratch = try Scratch()
    let files = PayloadFiles(in: scratch.path)
    let all = try (0..<3).map { _ in
      FileUpload(file: try files.write(Array("{\"a\":1}".utf8)), type: Self.steps, bytes: 7)
    }
    let questions = Mutex(0)
    let network = FakeNetwork(clock: TestClock())
    network.serve(requests: { request in
      if request.method == "OPTIONS" { questions.withLock { $0 += 1 } }
      return .success(HTTPAnswer(status: 200, headers: [:], body: []))
    })
    let uploads = HTTPUploads(
      server: "https://server.example", http: network, files: files, resumesFrom: 1
    ) { () throws(LinkFailure) in "secret" }
    let (events, continuation) = AsyncStream.makeStream(of: UploadEvent.self)
    await uploads.events { continuation.yield($0) }
    await uploads.enqueue(all)
    var ends = events.makeAsyncIterator()
    for _ in all { #expect(await ends.next()?.outcome == .accepted) }
    #expect(questions.withLock(\.self) == 1)
    await uploads.stop()
  }

  @Test func `fake uploads meet the upload queue contract and end when a test ends them`()
    async throws
  {
    let fake = FakeUploadQueue { upload in
      upload == Self.missing ? .unreadable(detail: "missing") : .accepted
    }
    try await uploadQueueContract(fake, good: Self.good, unreadable: Self.missing)
    let held = FakeUploadQueue(running: ["old.json"]) { _ in nil }
    await held.enqueue(Self.good)
    await held.end("a.json", .accepted)
    await held.end("a.json", .accepted)
    #expect(await held.running() == ["old.json", "b.json"])
    #expect(held.enqueued == Self.good)
  }

  @Test func `uploads that end twice break the contract`() async throws {
    let twice = TwiceEnding()
    await #expect(throws: ContractViolation.self) {
      try await uploadQueueContract(twice, good: Self.good, unreadable: Self.missing)
    }
  }

  /// An upload queue that reports the end of the first upload twice.
  private actor TwiceEnding: UploadQueue {
    private var deliver: (@Sendable (UploadEvent) async -> Void)?

    func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) {
      self.deliver = deliver
    }
    func running() -> Set<String> { [] }
    func enqueue(_ uploads: [FileUpload]) async {
      for upload in uploads.prefix(1) + uploads {
        await deliver?(UploadEvent(file: upload.file, outcome: .accepted))
      }
    }
    func identify() -> SyncIdentity { SyncIdentity(SyncOwner(server: "")) }
    func renewSecret() -> Bool { false }
    func refresh() -> LinkFailure? { nil }
    func stop() {}
  }
}
