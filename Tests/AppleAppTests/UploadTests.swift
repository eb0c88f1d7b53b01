@_spi(Script) import BackgroundSession
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads
import Synchronization
import Testing

import struct FoundationNetworking.URLRequest

@testable import HoldfastBackgroundUploads

/// A server whose answer a test sets.
final class FixedServer: HTTPClient {
  private let result: Mutex<Result<HTTPAnswer, LinkFailure>>
  private let seen = Mutex<[HTTPCall]>([])
  var calls: [HTTPCall] { seen.withLock(\.self) }

  init(_ status: Int = 200, _ body: String = "") { result = Mutex(Self.answer(status, body)) }

  func set(_ status: Int, _ body: String) { result.withLock { $0 = Self.answer(status, body) } }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    seen.withLock { $0.append(request) }
    return try result.withLock(\.self).get()
  }

  func forgetConnections() async {}

  private static func answer(_ status: Int, _ body: String) -> Result<HTTPAnswer, LinkFailure> {
    .success(HTTPAnswer(status: status, headers: [:], body: Array(body.utf8)))
  }
}

/// A phone: the system's daemon, a directory with files, and one process after the other.
struct Phone {
  let daemon = UploadDaemon()
  let server = FixedServer()
  let directory: URL
  let secrets = Mailbox<String>()

  init(files: [String]) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for file in files { try Data("{}".utf8).write(to: directory.appendingPathComponent(file)) }
  }

  func launch(
    server address: String = "https://a.example/api/sync/",
    deviceID: @escaping @Sendable () -> String? = { "phone" },
    secret: (@Sendable () async -> String)? = nil
  ) -> (AppProcess, BackgroundUploads) {
    let process = AppProcess(daemon)
    let secret = secret ?? { [secrets] in secrets.takeAll().last ?? "secret-1" }
    let target = UploadTarget(
      server: address, directory: directory, http: server,
      deviceID: deviceID
    ) { () throws(LinkFailure) in await secret() }
    return (process, process.run { BackgroundUploads(identifier: "sync", target) })
  }

  /// The tokens of all requests of uploads.
  var bearers: [String?] {
    daemon.requests.map { $0.value(forHTTPHeaderField: "Authorization") }
  }

  func transfer(_ file: String) -> Transfer? {
    daemon.transfers(of: "sync").first { $0.file.lastPathComponent == file }
  }

  func remove() { try? FileManager.default.removeItem(at: directory) }
}

/// Returns when no upload is left, also none whose end is being delivered.
func ended(_ queue: BackgroundUploads) async {
  while !(await queue.running()).isEmpty { await Task.yield() }
}

func upload(_ file: String) -> FileUpload { FileUpload(file: file, type: "t", bytes: 2) }

/// Tests of background uploads. Each test has a daemon of its own.
@Suite(.timeLimit(.minutes(60)))
struct UploadTests {
  @Test func `satisfies the contract of an upload queue`() async throws {
    let phone = try Phone(files: ["a", "b", "c"])
    defer { phone.remove() }
    phone.daemon.answer { _ in .answer(200) }
    let (process, queue) = phone.launch()
    try await uploadQueueContract(
      queue, good: ["a", "b", "c"].map(upload), unreadable: upload("gone"))
    let configuration = process.configuration(of: "sync")
    #expect(configuration?.sessionSendsLaunchEvents == true)
    #expect(configuration?.isDiscretionary == false)
    let request = try #require(phone.daemon.requests.first)
    #expect(request.url?.absoluteString == "https://a.example/api/sync")
    #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer secret-1")
    #expect(request.value(forHTTPHeaderField: "Idempotency-Key") == "a")
    #expect(phone.daemon.takeMisuses() == [])
  }

  @Test func `an upload can begin anew while its end is being delivered`() async throws {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    phone.daemon.answer { _ in .answer(200) }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { event in
      if told.count == 0, phone.daemon.requests.count == 1 { await queue.enqueue([upload("a")]) }
      told.put(event)
    }
    await queue.enqueue([upload("a")])
    #expect(await told.next(2).map(\.outcome) == [.accepted, .accepted])
  }

  @Test func `uploads outlive a kill, and the wake is given back after all ends`() async throws {
    let phone = try Phone(files: ["a", "b", "c"])
    defer { phone.remove() }
    let (first, dead) = phone.launch()
    await dead.events { _ in }
    await dead.enqueue(["a", "b", "c"].map(upload))
    first.kill()
    let ending = try ["a", "b"].map { try #require(phone.transfer($0)) }
    ending[0].loseDescription()
    for transfer in ending { phone.daemon.end(transfer, .answer(200, body: "{\"success\":true}")) }

    let (_, queue) = phone.launch()
    let given = Mailbox<WakeResult>()
    await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
    phone.daemon.finishEvents(of: "sync")
    #expect(await queue.running() == ["a", "b", "c"])
    #expect(given.count == 0)
    let told = Mailbox<UploadEvent>()
    let held = Mailbox<Void>()
    await queue.events { event in
      told.put(event)
      _ = await held.next()
    }
    let one = await told.next()
    #expect(given.count == 0)
    held.put(())
    let two = await told.next()
    #expect(given.count == 0)
    held.put(())
    #expect(await given.next() == .done)
    #expect(Set([one, two]) == Set(["a", "b"].map { UploadEvent(file: $0, outcome: .accepted) }))
    held.put(())
    phone.daemon.end(try #require(phone.transfer("c")), .answer(503))
    guard case .failed(.http(503, _, _))? = await told.next()?.outcome else {
      Issue.record("the third end is delivered")
      return
    }
    await ended(queue)
    #expect(phone.daemon.takeMisuses() == [])
  }

  @Test func `an upload to an earlier server ends, and its file is sent to the present one`()
    async throws
  {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    let (first, queue) = phone.launch()
    await queue.events { _ in }
    await queue.enqueue([upload("a")])
    first.kill()
    let (_, later) = phone.launch(server: "https://b.example")
    let told = Mailbox<UploadEvent>()
    await later.events { told.put($0) }
    _ = await later.running()
    let event = try await told.next(within: .seconds(600))
    guard case .failed(.local) = event.outcome else {
      Issue.record("\(event)")
      return
    }
    await ended(later)
    phone.daemon.answer { _ in .answer(200) }
    await later.enqueue([upload("a")])
    #expect(try await told.next(within: .seconds(600)).outcome == .accepted)
    #expect(
      phone.daemon.requests.last?.url?.absoluteString == "https://b.example/api/sync")
    await later.stop()
  }

  @Test func `an upload that was made but not started is started by the next process`() async throws
  {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    let (first, _) = phone.launch()
    first.run {
      let session = URLSession(
        configuration: .background(withIdentifier: "sync"), delegate: nil, delegateQueue: nil)
      let url = URL(string: "https://a.example/api/sync") ?? phone.directory
      let request = URLRequest(url: url)
      session.uploadTask(with: request, fromFile: phone.directory.appendingPathComponent("a"))
        .taskDescription = "a"
    }
    first.kill()
    #expect(phone.transfer("a")?.isSuspended == true)
    let (_, queue) = phone.launch()
    await queue.events { _ in }
    #expect(await queue.running() == ["a"])
    #expect(phone.transfer("a")?.isSuspended == false)
  }

  @Test func `stop keeps uploads, gives the wake back, and leaves ends to the next listener`()
    async throws
  {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a"), upload("a")])
    await queue.enqueue([upload("a")])
    let given = Mailbox<WakeResult>()
    await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
    await queue.stop()
    await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
    #expect(await given.next(2) == [.later, .later])
    let transfer = try #require(phone.transfer("a"))
    phone.daemon.end(transfer, .answer(200))
    phone.daemon.repeatEnd(of: transfer)
    #expect(await queue.running() == ["a"])
    #expect(told.count == 0)
    await queue.events { told.put($0) }
    #expect(await told.next() == UploadEvent(file: "a", outcome: .accepted))
    #expect(phone.daemon.requests.count == 1)
  }

  @Test func `an end that is reported late still counts as running`() async throws {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    let (first, dead) = phone.launch()
    let (launched, told) = (Mailbox<String>(), Mailbox<UploadEvent>())
    phone.daemon.launch { launched.put($0) }
    await dead.enqueue([upload("a")])
    first.kill()
    phone.daemon.holdEnds(true)
    phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
    #expect(await launched.next() == "sync")
    let (_, queue) = phone.launch()
    await queue.events { told.put($0) }
    #expect(await queue.running() == ["a"])
    await queue.enqueue([upload("a")])
    phone.daemon.holdEnds(false)
    #expect(await told.next()?.outcome == .accepted)
    await ended(queue)
    #expect(phone.daemon.requests.count == 1)
    #expect(phone.daemon.takeMisuses() == [])
  }

  @Test func `a wake is given back at its expiry, and a later one after its own ends`() async throws
  {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    let (_, queue) = phone.launch()
    let (given, told) = (Mailbox<WakeResult>(), Mailbox<UploadEvent>())
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    let wake = Wake(budget: .seconds(30)) { given.put($0) }
    await queue.woken(wake)
    wake.expire()
    #expect(await given.next() == .later)
    await queue.stop()
    phone.daemon.finishEvents(of: "sync")
    _ = await queue.running()
    await queue.events { told.put($0) }
    await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
    #expect(given.count == 0, "the earlier report belongs to the earlier wake")
    phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
    phone.daemon.finishEvents(of: "sync")
    #expect(await told.next()?.outcome == .accepted)
    #expect(await given.next() == .done)
  }

  @Test func `a sign-out cancels the uploads of all processes, and nobody hears of them`()
    async throws
  {
    let phone = try Phone(files: ["a", "b"])
    defer { phone.remove() }
    let (first, dead) = phone.launch()
    await dead.enqueue(["a", "b"].map(upload))
    first.kill()
    phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.cancelAll()
    #expect(await queue.running() == [])
    await queue.events { told.put($0) }
    #expect(await queue.running() == [])
    #expect(told.count == 0)
    phone.daemon.answer { _ in .answer(200) }
    await queue.enqueue([upload("a")])
    #expect(await told.next() == UploadEvent(file: "a", outcome: .accepted))
    #expect(phone.daemon.takeMisuses() == [])
  }

  @Test func `an enqueue that waits for the token starts nothing after a sign-out`() async throws {
    for endsFirst in [false, true] {
      let phone = try Phone(files: ["a"])
      defer { phone.remove() }
      let (asked, tokens) = (Mailbox<Void>(), Mailbox<String>())
      let (_, queue) = phone.launch(secret: {
        asked.put(())
        return await tokens.next() ?? ""
      })
      let told = Mailbox<UploadEvent>()
      await queue.events { told.put($0) }
      let call = Task { await queue.enqueue([upload("a")]) }
      _ = await asked.next()
      if endsFirst { await queue.stop() }
      await queue.cancelAll()
      tokens.put("token-of-ann")
      await call.value
      // A call of the source that was cancelled took no token.
      _ = tokens.takeAll()
      #expect(phone.daemon.requests.isEmpty)
      #expect(await queue.running() == [])
      phone.daemon.answer { _ in .answer(200) }
      await queue.events { told.put($0) }
      let next = Task { await queue.enqueue([upload("a")]) }
      _ = await asked.next()
      tokens.put("token-of-bob")
      await next.value
      #expect(await told.next() == UploadEvent(file: "a", outcome: .accepted))
      #expect(told.count == 0)
      #expect(phone.bearers == ["Bearer token-of-bob"])
    }
  }

  @Test func `the next user's requests have the next user's token`() async throws {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    phone.daemon.answer { _ in .answer(200) }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    #expect(await told.next()?.outcome == .accepted)
    await queue.stop()
    await queue.cancelAll()
    phone.secrets.put("secret-2")
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    #expect(await told.next()?.outcome == .accepted)
    #expect(phone.bearers == ["Bearer secret-1", "Bearer secret-2"])
  }

  @Test func `the identifier of the phone is read for each request`() async throws {
    let phone = try Phone(files: [])
    defer { phone.remove() }
    phone.server.set(200, "{}")
    let names = Mailbox<String>()
    let (_, queue) = phone.launch(deviceID: { names.takeAll().last })
    _ = try await queue.identify()
    names.put("phone-of-bob")
    _ = try await queue.identify()
    #expect(phone.server.calls.map { $0.query.map(\.value) } == [[], ["phone-of-bob"]])
  }

  @Test func `a wake waits for its own ends, whatever the system reported without a wake`()
    async throws
  {
    for isEarly in [false, true] {
      let phone = try Phone(files: ["a", "b"])
      defer { phone.remove() }
      let (_, queue) = phone.launch()
      let (told, given) = (Mailbox<UploadEvent>(), Mailbox<WakeResult>())
      if isEarly {
        phone.daemon.finishEvents(of: "sync")
        // The report has come.
        _ = await queue.running()
      }
      await queue.events { told.put($0) }
      await queue.enqueue([upload("a")])
      phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
      _ = await told.next()
      await ended(queue)
      if !isEarly {
        phone.daemon.finishEvents(of: "sync")
        _ = await queue.running()
      }
      await queue.enqueue([upload("b")])
      await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
      #expect(given.count == 0)
      phone.daemon.end(try #require(phone.transfer("b")), .answer(200))
      _ = await told.next()
      await ended(queue)
      #expect(given.count == 0)
      phone.daemon.finishEvents(of: "sync")
      #expect(await given.next() == .done)
    }
  }

  @Test func `a wake of a launch may come after its report and after the next uploads`()
    async throws
  {
    let phone = try Phone(files: ["a", "b"])
    defer { phone.remove() }
    let (first, dead) = phone.launch()
    await dead.enqueue([upload("a")])
    first.kill()
    phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
    let (_, queue) = phone.launch()
    let (told, given) = (Mailbox<UploadEvent>(), Mailbox<WakeResult>())
    phone.daemon.finishEvents(of: "sync")
    // The report has come.
    _ = await queue.running()
    await queue.events { told.put($0) }
    _ = await told.next()
    await queue.enqueue([upload("b")])
    await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
    #expect(await given.next() == .done)
  }

  @Test func `a wake that takes another report is given back early, and its ends are delivered`()
    async throws
  {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    let (_, queue) = phone.launch()
    let (told, given) = (Mailbox<UploadEvent>(), Mailbox<WakeResult>())
    // No wake belongs to this report, but it could be that of the launch.
    phone.daemon.finishEvents(of: "sync")
    _ = await queue.running()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
    #expect(await given.next() == .done)
    phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
    #expect(await told.next() == UploadEvent(file: "a", outcome: .accepted))
  }

  @Test func `a wake whose report came before the next uploads is given back at its expiry`()
    async throws
  {
    let phone = try Phone(files: ["a", "b"])
    defer { phone.remove() }
    let (_, queue) = phone.launch()
    let (told, given) = (Mailbox<UploadEvent>(), Mailbox<WakeResult>())
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    phone.daemon.end(try #require(phone.transfer("a")), .answer(200))
    _ = await told.next()
    await ended(queue)
    phone.daemon.finishEvents(of: "sync")
    _ = await queue.running()
    await queue.enqueue([upload("b")])
    let wake = Wake(budget: .seconds(30)) { given.put($0) }
    await queue.woken(wake)
    #expect(given.count == 0)
    wake.expire()
    #expect(await given.next() == .later)
    phone.daemon.end(try #require(phone.transfer("b")), .answer(200))
    #expect(await told.next() == UploadEvent(file: "b", outcome: .accepted))
  }

  @Test func `an enqueue that waits for the token sends nothing after a Retry-After`() async throws
  {
    let phone = try Phone(files: ["a", "b"])
    defer { phone.remove() }
    let (first, dead) = phone.launch()
    await dead.enqueue([upload("a")])
    first.kill()
    let (asked, tokens, told) = (Mailbox<Void>(), Mailbox<String>(), Mailbox<UploadEvent>())
    let (_, queue) = phone.launch(secret: {
      asked.put(())
      return await tokens.next() ?? ""
    })
    await queue.events { told.put($0) }
    let call = Task { await queue.enqueue([upload("b")]) }
    _ = await asked.next()
    let answer = Transfer.Result.answer(503, headers: ["Retry-After": "60"])
    phone.daemon.end(try #require(phone.transfer("a")), answer)
    #expect(await told.next()?.file == "a")
    // The listener has learned of the pause, but had handed the other file over before.
    await ended(queue)
    tokens.put("secret-2")
    await call.value
    guard case .failed(.http(503, let rest?, _))? = await told.next()?.outcome else {
      Issue.record("the other upload has the same failure")
      return
    }
    #expect(rest > .zero && rest <= .seconds(60))
    #expect(phone.daemon.requests.count == 1)
    phone.daemon.answer { _ in .answer(200) }
    await queue.enqueue([upload("b")])
    #expect(await told.next() == UploadEvent(file: "b", outcome: .accepted))
  }

  @Test func `a file that cannot be read at present is reported, and an empty one is sent`()
    async throws
  {
    let phone = try Phone(files: ["empty"])
    defer { phone.remove() }
    phone.daemon.answer { _ in .answer(200) }
    try Data().write(to: phone.directory.appendingPathComponent("empty"))
    try FileManager.default.createDirectory(
      at: phone.directory.appendingPathComponent("folder"), withIntermediateDirectories: false)
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("folder")])
    let locked = LinkFailure.local(
      detail: "The file cannot be read at present; the device may be locked.")
    #expect(await told.next() == UploadEvent(file: "folder", outcome: .failed(locked)))
    await queue.enqueue([upload("empty")])
    #expect(await told.next() == UploadEvent(file: "empty", outcome: .accepted))
  }

  @Test(
    arguments: [
      ("https://login.example/api/sync", false), ("https://a.example/other", false),
      ("https://a.example:8443/api/sync", false), ("http://a.example/api/sync", false),
      ("https://A.example/api/sync", true),
    ] as [(String, Bool)])
  func `only the address that was asked accepts a batch`(end: String, isAccepted: Bool) async throws
  {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    phone.daemon.answer { _ in .answer(200, body: "{\"success\":true}", url: URL(string: end)) }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    let outcome = await told.next()?.outcome
    let refused = LinkFailure.http(status: 302, retryAfter: nil, detail: "points to \(end)")
    #expect(outcome == (isAccepted ? .accepted : .failed(refused)))
  }

  @Test func `a refused token is replaced, and failures never contain it`() async throws {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    phone.daemon.answer { _ in .answer(401, body: "{\"error\":\"secret-1 is old\"}") }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "[token] is old")
    #expect(await told.next()?.outcome == .failed(refused))
    #expect(await queue.renewSecret() == false)
    phone.secrets.put("secret-2")
    #expect(await queue.renewSecret())
    phone.server.set(200, "{\"success\":true}")
    #expect(await queue.refresh() == nil)
    _ = try await queue.identify()
    #expect(
      phone.server.calls.map(\.url) == [
        "https://a.example/api/sync/refresh", "https://a.example/api/sync",
      ])
    #expect(
      phone.server.calls.allSatisfy { call in
        call.headers.contains { $0.value == "Bearer secret-2" }
      })
    phone.server.set(500, "")
    #expect(await queue.refresh() != nil)
  }

  @Test(
    arguments: [
      (Transfer.Result.failure(.cancelled), false), (.failure(.timedOut), false),
      (.failure(.notConnectedToInternet), false),
      (.answer(200, body: "{\"success\":false}"), false),
      (.answer(200, headers: ["Content-Type": "text/html"]), false),
      (.answer(204), true),
    ] as [(Transfer.Result, Bool)])
  func `every result of the system is one event`(
    result: Transfer.Result, isAccepted: Bool
  ) async throws {
    let phone = try Phone(files: ["a"])
    defer { phone.remove() }
    phone.daemon.answer { _ in result }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue([upload("a")])
    #expect((await told.next()?.outcome == .accepted) == isAccepted)
  }

  @Test func `of a response of 100 MB, only the first megabyte is kept`() async throws {
    let (long, answer) = (String(repeating: " ", count: 2 << 20), "{\"success\":true}")
    let longest = String(repeating: " ", count: 100 << 20)
    let phone = try Phone(files: ["a", "b", "c"])
    defer { phone.remove() }
    phone.daemon.answer { transfer in
      switch transfer.file.lastPathComponent {
      case "a": .answer(200, body: answer + longest)
      case "b": .answer(200, body: long + answer)
      case _: .answer(503, body: "{\"error\":\"" + long + "\"}")
      }
    }
    let (_, queue) = phone.launch()
    let told = Mailbox<UploadEvent>()
    await queue.events { told.put($0) }
    await queue.enqueue(["a", "b", "c"].map(upload))
    let outcomes = await told.next(3).map(\.outcome)
    let failures = [200, 503].map { status in
      UploadOutcome.failed(.http(status: status, retryAfter: nil, detail: ""))
    }
    #expect(outcomes == [.accepted] + failures)
  }

  @Test(arguments: 0..<10)
  func `nothing is lost and nothing comes twice, for a thousand orders`(block: Int) async throws {
    let files = (0..<4).map { "f\($0)" }
    let phone = try Phone(files: files)
    defer { phone.remove() }
    for seed in (block * 100)..<(block * 100 + 100) {
      var random = RandomSource(seed: UInt64(seed))
      try await play(files, Phone(like: phone), &random, "seed \(seed)")
    }
  }

  /// Ends uploads before, between and after kills, and counts the ends of each file.
  private func play(
    _ files: [String], _ phone: Phone, _ random: inout RandomSource, _ name: String
  ) async throws {
    let (told, given) = (Mailbox<UploadEvent>(), Mailbox<WakeResult>())
    var (process, queue) = phone.launch()
    await queue.events { told.put($0) }
    await queue.enqueue(files.map(upload))
    var wakes = 0
    for file in files.shuffled(using: &random) {
      let isKilled = Bool.random(using: &random)
      // A process that dies has delivered what it was told.
      if isKilled {
        while !(await queue.running()).isSubset(of: phone.left) { await Task.yield() }
        process.kill()
      }
      let transfer = try #require(phone.transfer(file))
      if Bool.random(using: &random) { transfer.loseDescription() }
      phone.daemon.end(transfer, .answer(200))
      if isKilled {
        (process, queue) = phone.launch()
        wakes += 1
        var steps = [0, 1, 2].shuffled(using: &random)
        while let step = steps.popLast() {
          switch step {
          case 0: await queue.woken(Wake(budget: .seconds(30)) { given.put($0) })
          case 1: phone.daemon.finishEvents(of: "sync")
          case _: await queue.events { told.put($0) }
          }
        }
      } else if Bool.random(using: &random) {
        phone.daemon.repeatEnd(of: transfer)
      }
      #expect(await queue.running().isSuperset(of: phone.left), "\(name)")
    }
    #expect(await told.next(files.count).map(\.file).sorted() == files, "\(name)")
    #expect(await given.next(wakes).allSatisfy { $0 == .done }, "\(name)")
    await ended(queue)
    #expect(told.count == 0 && given.count == 0, "\(name)")
    #expect(phone.daemon.takeMisuses() == [], "\(name)")
  }
}

extension Phone {
  /// Creates a phone with the files of another one.
  init(like other: Phone) { directory = other.directory }

  /// The files whose uploads have not ended.
  var left: Set<String> {
    Set(daemon.transfers(of: "sync").filter { !$0.isOver }.map(\.file.lastPathComponent))
  }
}
