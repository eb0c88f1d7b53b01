import Holdfast
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastRelayData
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct `A phone pulls its questions` {
  @Test func `leases questions, answers them under the token, and ends`() async throws {
    let rig = PullRig(rounds: [[PullRig.question(1), PullRig.question(2)], [PullRig.question(3)]])
    let report = await rig.pull().run()
    #expect(report == PullReport(answered: 3, ending: .finished))
    #expect(rig.requests.allSatisfy { $0.authorization == "Bearer \(PullRig.token)" })
    #expect(
      rig.requests.map { $0.url.dropFirst(PullRig.server.count) } == [
        "/relay/lease", "/relay/results", "/relay/results", "/relay/lease", "/relay/results",
        "/relay/lease",
      ])
    #expect(
      try rig.results()
        == [1, 2, 3].map { number in
          let question = PullRig.question(number)
          return LeasedResult(lease: question.lease, message: .healthData(question.id, .sample))
        })
  }

  @Test(arguments: [true, false])
  func `a run opens the health data of its configuration, and closes them at its end`(
    canOpen: Bool
  ) async throws {
    let scratch = try Scratch()
    let rig = PullRig(rounds: [[PullRig.question(1)]])
    var configuration = RelayConfiguration(
      server: PullRig.server, phone: UUID128(high: 1, low: 2), zone: .utc, profile: .foreground,
      storage: .directory(canOpen ? scratch("phone") : "/proc/nonexistent"))
    configuration.ports = DevicePorts(network: rig.network, clock: rig.clock)
    let pull = try HealthPull(configuration, token: Secret(PullRig.token))
    // Runs may be repeated. The second one has no question.
    #expect(await pull.run() == PullReport(answered: 1, ending: .finished))
    #expect(await pull.run() == PullReport(ending: .finished))
    guard case .healthData(_, let object)? = try rig.results().first?.message else {
      Issue.record("no answer was sent")
      return
    }
    #expect(object.succeeded == canOpen)
  }

  @Test func `a long answer is sent in parts that form the whole`() async throws {
    let rig = PullRig(rounds: [[PullRig.question(1)]])
    let object = HealthObject.long(500_000)
    let report = await rig.pull { _, _ in object }.run()
    #expect(report == PullReport(answered: 1, ending: .finished))
    let parts = try rig.results().map { result in
      guard case .part(_, let part) = result.message else { return "" }
      return part.text
    }
    #expect(parts.count > 2)
    #expect(Array(parts.joined().utf8) == object.bytes)
    #expect(rig.requests.allSatisfy { $0.body.count <= 65_536 })
  }

  @Test func `an exchange without a response is retried until the schedule ends`()
    async throws
  {
    let rig = PullRig { _, _ in .failure(.reset) }
    let report = await rig.run(rig.pull(), passing: 0.5, 1.5, 3.5, 7.5)
    #expect(report.ending == .failed(.reset))
    #expect(rig.requests.count == 5)
  }

  @Test func `a pull ends after 25 s if the backend hangs`() async throws {
    let rig = PullRig { _, _ in
      await PullRig.hang()
      return .failure(.ended)
    }
    let report = await rig.run(rig.pull(), passing: 25)
    #expect(report.ending == .outOfTime)
    #expect(rig.clock.now == .second(25))
  }

  @Test func `a pull of a push ends before the granted time, and gives it back with a result`()
    async throws
  {
    for (questions, budget, end, expected) in [
      (true, 30, nil, WakeResult.done), (false, 30, 25, .later), (false, 12, 10, .later),
    ] as [(Bool, Int64, Double?, WakeResult)] {
      let rig =
        questions
        ? PullRig(rounds: [[PullRig.question(1)]])
        : PullRig { _, _ in
          await PullRig.hang()
          return .failure(.ended)
        }
      let (results, continuation) = AsyncStream.makeStream(of: WakeResult.self)
      let wake = Wake(budget: .seconds(budget)) { continuation.yield($0) }
      async let report = rig.pull().run(wake)
      if let end {
        await rig.clock.someoneWaits(for: .second(end))
        rig.clock.advance(to: .second(end))
      }
      #expect(await report.ending == (questions ? .finished : .outOfTime))
      var all = results.makeAsyncIterator()
      #expect(await all.next() == expected)
    }
  }

  @Test func `a pull ends when the system takes the granted time back`() async throws {
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let rig = PullRig { _, _ in
      start.yield()
      await PullRig.hang()
      return .failure(.ended)
    }
    let (results, continuation) = AsyncStream.makeStream(of: WakeResult.self)
    let wake = Wake(budget: .seconds(30)) { continuation.yield($0) }
    async let report = rig.pull().run(wake)
    for await _ in started { break }
    wake.expire()
    #expect(await report.ending == .cancelled)
    var all = results.makeAsyncIterator()
    #expect(await all.next() == .later)
  }

  @Test func `a result whose response was lost is sent again unchanged`() async throws {
    let rig = PullRig { request, before in
      if request.url.hasSuffix("/relay/lease") {
        return .success(.leased(before == 0 ? [PullRig.question(1)] : []))
      }
      return before == 0 ? .failure(.reset) : .success(.empty(200))
    }
    let report = await rig.run(rig.pull(), passing: 0.5)
    #expect(report == PullReport(answered: 1, ending: .finished))
    let results = try rig.results()
    #expect(results.count == 2)
    #expect(results.first == results.last)
  }

  @Test(arguments: [
    (401, PullReport.Ending.signedOut), (404, .unsupported),
    (418, .failed(.http(status: 418, retryAfter: nil, detail: ""))),
  ])
  func `a refusal is reported with its cause`(status: Int, ending: PullReport.Ending) async throws {
    let rig = PullRig { _, _ in .success(.empty(status)) }
    #expect(await rig.pull().run().ending == ending)
    #expect(rig.requests.count == 1)
  }

  @Test func `a web page is not accepted as a backend's response`() async throws {
    let rig = PullRig { _, _ in
      .success(HTTPAnswer(status: 200, headers: ["content-type": "text/html"], body: []))
    }
    // Over TLS, only the backend itself can have sent the web page.
    #expect(
      await rig.pull().run().ending
        == .failed(.http(status: 200, retryAfter: nil, detail: "a web page")))
  }

  @Test func `a read that takes too long is canceled, and the error is sent`() async throws {
    let rig = PullRig(rounds: [[PullRig.question(1)]])
    let stopped = Mailbox<Bool>()
    let report = await rig.run(
      rig.pull { _, _ in
        await PullRig.hang()
        stopped.put(Task.isCancelled)
        return .sample
      }, passing: 21)
    #expect(report.answered == 1)
    #expect(await stopped.next() == true)
    guard case .healthData(_, let object)? = try rig.results().first?.message else {
      Issue.record("no error was sent")
      return
    }
    #expect(!object.succeeded)
    #expect(object.reason == "the health data could not be read in time")
  }

  @Test func `ends immediately when its task is canceled`() async throws {
    let asked = Mailbox<Bool>()
    let rig = PullRig { _, _ in
      asked.put(true)
      await PullRig.hang()
      return .failure(.ended)
    }
    let running = Task { await rig.pull().run() }
    _ = await asked.next()
    running.cancel()
    #expect(await running.value.ending == .cancelled)
    let gate = Mailbox<Bool>()
    let late = Task {
      _ = await gate.next()
      return await rig.pull().run()
    }
    late.cancel()
    gate.close()
    #expect(await late.value.ending == .cancelled)
  }

  @Test func `a finished pull leaves nothing in memory`() async {
    let rig = PullRig(rounds: [[PullRig.question(1)]])
    let (end, ended) = AsyncStream.makeStream(of: Void.self)
    do {
      let witness = Witness(ended)
      let report = await rig.pull { _, _ in witness.object }.run()
      #expect(report == PullReport(answered: 1, ending: .finished))
    }
    for await _ in end {}
  }

  /// An object that ends a stream when it is released.
  private final class Witness: Sendable {
    let object = HealthObject.sample
    private let ended: AsyncStream<Void>.Continuation

    init(_ ended: AsyncStream<Void>.Continuation) { self.ended = ended }

    deinit { ended.finish() }
  }

  @Test func `no failure shows the token`() async throws {
    let rig = PullRig { _, _ in .failure(.local(detail: "sent \(PullRig.token)")) }
    let report = await rig.pull().run()
    #expect(!"\(report)".contains(PullRig.token))
    await #expect(throws: LinkFailure.local(detail: "sent [token]")) {
      try await rig.pull().register(.hook("bell"))
    }
  }

  @Test func `a push address is registered under the token`() async throws {
    let rig = PullRig { _, _ in .success(.empty(200)) }
    try await rig.pull().register(.hook("bell"))
    #expect(rig.requests.map(\.url) == [PullRig.server + "/relay/push"])
    #expect(try PushAddress.decode(try #require(rig.requests.first).body) == .hook("bell"))
    let refusing = PullRig { _, _ in .success(.empty(401)) }
    await #expect(throws: LinkFailure.http(status: 401, retryAfter: nil, detail: "")) {
      try await refusing.pull().register(.hook("bell"))
    }
  }
}
