import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct ProgressTests {
  private var script = Script(Progress())

  private mutating func wait(_ seconds: Double) -> [Finding] {
    script.store(TimelineChange(outboxPut: [.number(1)]))
    script.tick(at: seconds)
    return script.findings
  }

  @Test(arguments: [(60.0, false), (60.1, true)])
  mutating func `a message that nothing is in the way of is sent within a minute`(
    seconds: Double, isFound: Bool
  ) {
    let detail = "a message waits for 60.0 seconds, and nothing is in its way"
    let finding = Finding(.stuck, at: .second(seconds), detail)
    #expect(wait(seconds) == (isFound ? [finding] : []))
  }

  @Test mutating func `one that failed waits for its user`() {
    script.store(TimelineChange(outboxPut: [.number(1, state: .failed(reason: "no"))]))
    script.tick(at: 100)
    #expect(script.findings == [])
  }

  @Test(arguments: [
    StreamModel.Input.fetchFailed(FetchID(1), .reset),
    .commitFailed(CommitID(1), .full(detail: "")),
    .postFailed(UUID128(high: 9, low: 1), try: TryID(1), .reset), .reader(isBehind: true),
  ])
  mutating func `a minute begins with what was in the way`(input: StreamModel.Input) {
    script.store(TimelineChange(outboxPut: [.number(1)]))
    script.tell(input, at: 50)
    script.tick(at: 110)
    #expect(script.findings == [])
    script.tick(at: 111)
    #expect(script.findings.count == 1)
  }

  @Test(arguments: [(ServerKind.positions, true), (.plain, false)])
  mutating func `a page that came was in the way of a post to a plain server alone`(
    server: ServerKind, isFound: Bool
  ) {
    script.facts.own.server = server
    script.store(TimelineChange(outboxPut: [.number(1)]))
    script.tell(.fetched(FetchID(1), Page(messages: [], hasNext: false)), at: 50)
    script.tick(at: 61)
    #expect(script.findings.isEmpty == !isFound)
  }

  @Test mutating func `a try begins another one`() {
    script.store(TimelineChange(outboxPut: [.number(1)]))
    script.tick(at: 50, [.post(.number(1), try: TryID(1))])
    script.tick(at: 110)
    #expect(script.findings == [])
  }

  @Test(arguments: [(10.0, 70.0), (10.5, 70.5)])
  mutating func `a fetch that takes too long was in the way, too`(second: Double, end: Double) {
    script.tick(at: 0, [.fetch(FetchID(1), .page(number: 1, limit: 50))])
    script.store(TimelineChange(outboxPut: [.number(1)]))
    script.tick(at: 9.5)
    script.tick(at: second)
    script.tick(at: end)
    #expect(script.findings == [])
    script.tick(at: end + 0.5)
    #expect(script.findings.map(\.at) == [.second(end + 0.5)])
  }

  @Test mutating func `a fetch of an earlier run, or one that was answered, is not`() {
    script.tick(at: 0, [.fetch(FetchID(1), .page(number: 1, limit: 50))])
    script.see(.launched(.phone, run: 2), at: 1)
    script.tick(at: 1, [.fetch(FetchID(2), .page(number: 1, limit: 50))])
    script.tell(.fetched(FetchID(2), Page(messages: [], hasNext: false)), at: 2)
    script.store(TimelineChange(outboxPut: [.number(1)]), at: 2)
    script.tick(at: 30)
    script.tick(at: 62.5)
    #expect(script.findings.map(\.at) == [.second(62.5)])
  }

  @Test mutating func `the server's wish comes first, and new credentials do`() {
    script.store(TimelineChange(outboxPut: [.number(1)]))
    let busy = LinkFailure.http(status: 429, retryAfter: .seconds(100), detail: "")
    script.tell(.postFailed(OutboxEntry.number(1).id, try: TryID(1), busy), at: 0)
    script.tick(at: 160)
    #expect(script.findings == [])
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    script.tell(.postFailed(OutboxEntry.number(1).id, try: TryID(1), refused), at: 160)
    script.tick(at: 1000)
    #expect(script.findings == [])
    script.tell(.credentials(.available(expiresIn: nil)), at: 1000)
    script.tick(at: 1061)
    #expect(script.findings.count == 1)
  }

  @Test(arguments: 0..<4) mutating func `it must be possible`(which: Int) {
    switch which {
    case 0: script.facts.isAwake = false
    case 1: script.facts.isWanted = false
    case 2: script.facts.storeFails = true
    case _: script.facts.status.phase = .reconnecting
    }
    #expect(wait(1000) == [])
  }
}
