import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct RequestsTests {
  private var script = Script(Requests())

  private mutating func ask(_ count: Int, apart: Double, answer: (FetchID) -> StreamModel.Input) {
    for number in 0..<count {
      let id = FetchID(UInt64(number))
      let at = Double(number) * apart
      script.tick(at: at, [.fetch(id, .after(Position(epoch: "e", offset: 0), limit: 100))])
      script.tell(answer(id), at: at)
    }
  }

  @Test(arguments: [(180, false), (181, true), (182, true)])
  mutating func `a minute has room for three requests a second in vain`(count: Int, isFound: Bool) {
    ask(count, apart: 0.25) { .fetchFailed($0, .reset) }
    let detail = "more than 180 requests in vain within a minute"
    #expect(script.findings == (isFound ? [Finding(.storm, at: .second(45), detail)] : []))
  }

  @Test mutating func `an answer that brings nothing new is in vain`() {
    script.store(TimelineChange(messages: [.number(1)]))
    ask(181, apart: 0.25) { .fetched($0, Page(messages: [.number(1)], hasNext: false)) }
    let detail = "more than 180 requests in vain within a minute"
    #expect(script.findings == [Finding(.storm, at: .second(45), detail)])
  }

  @Test(arguments: [(true, true, false), (true, false, true), (false, true, true)])
  mutating func `pages of what is kept lead on if each follows the one before and there is more`(
    moves: Bool, hasNext: Bool, isFound: Bool
  ) {
    let all = (1...183).map { Message.number($0) }
    script.store(TimelineChange(messages: all))
    for number in 0..<182 {
      let at = Double(number) / 4
      let place = Position(epoch: "e", offset: UInt64(moves ? number : 0))
      let id = FetchID(UInt64(number))
      script.tick(at: at, [.fetch(id, .after(place, limit: 1))])
      let page = Page(messages: [all[moves ? number : 0]], hasNext: hasNext)
      script.tell(.fetched(id, page), at: at)
    }
    #expect(script.findings.isEmpty == !isFound)
  }

  @Test(arguments: [(1, true, false), (1, false, true), (1000, true, true)])
  mutating func `pages through a gap lead down where memory holds no more of what is kept`(
    memory: Int, hasGap: Bool, isFound: Bool
  ) {
    let all = (1...183).map { Message.number($0) }
    let gaps = hasGap ? [Gap(after: nil, before: all[182].key)] : []
    script.store(TimelineChange(messages: all, gaps: gaps))
    script.facts.own.settings.memory = memory
    for number in 0..<182 {
      let id = FetchID(UInt64(number))
      let at = Double(number) / 4
      let place = Position(epoch: "e", offset: UInt64(183 - number))
      script.tick(at: at, [.fetch(id, .before(place, limit: 1))])
      script.tell(.fetched(id, Page(messages: [all[181 - number]], hasNext: true)), at: at)
    }
    #expect(script.findings.isEmpty == !isFound)
  }

  @Test mutating func `an answer that brings something, or a cause for each, is well`() {
    ask(300, apart: 0.1) { .fetched($0, Page(messages: [.number(1)], hasNext: false)) }
    #expect(script.findings == [])
    for number in 0..<300 {
      script.tell(.loadOlder, at: 100 + Double(number) / 10)
      script.tell(
        .postFailed(OutboxEntry.number(1).id, try: TryID(1), .reset), at: 100 + Double(number) / 10)
    }
    #expect(script.findings == [])
  }

  @Test mutating func `what is older than a minute does not count`() {
    ask(1000, apart: 0.34) { .fetchFailed($0, .reset) }
    #expect(script.findings == [])
  }

  private static let requests: [(StreamModel.Effect, String)] = [
    (.open(AttemptID(2)), "a connection was tried"),
    (.fetch(FetchID(1), .page(number: 1, limit: 50)), "a page was asked for"),
    (.post(.number(1), try: TryID(1)), "a message was sent"),
    (.refreshCredentials, "credentials were refreshed"),
  ]

  @Test(arguments: 0..<4)
  mutating func `nothing follows a terminal answer by itself`(which: Int) {
    let (effect, words) = Self.requests[which]
    script.tell(.refresh, at: 1, [effect])
    script.facts.status = LinkStatus(phase: .failed, reason: .signIn)
    script.tell(.lost(AttemptID(1), .reset), at: 2, [effect])
    #expect(script.findings == [])
    script.tick(at: 3, [effect])
    let finding = Finding(.storm, at: .second(3), "\(words) after an answer that ends it all")
    #expect(script.findings == [finding])
  }

  @Test mutating func `what the user does after it is well`() {
    script.facts.status = LinkStatus(phase: .failed, reason: .signIn)
    script.tell(.lost(AttemptID(1), .reset), at: 2)
    script.tell(.open(at: Message.start), at: 3, [.open(AttemptID(2))])
    #expect(script.findings == [])
  }
}

extension RequestsTests {
  @Test mutating func `what a reader waits for may be fetched after it, and no more`() {
    let fetch = StreamModel.Effect.fetch(FetchID(1), .page(number: 2, limit: 50))
    script.facts.status = LinkStatus(phase: .failed, reason: .signIn)
    script.tell(.loadOlder, at: 1)
    script.tell(.older([]), at: 2, [fetch])
    script.tell(.fetchFailed(FetchID(1), .reset), at: 3, [.update(.history(hasMore: true))])
    #expect(script.findings == [])
    script.tick(at: 4, [fetch])
    let detail = "a page was asked for after an answer that ends it all"
    #expect(script.findings == [Finding(.storm, at: .second(4), detail)])
  }
}

struct RefreshesTests {
  private var script = Script(Refreshes<StreamFeature>())
  private let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")

  private mutating func refuse(_ times: Int) {
    for number in 0..<times {
      let at = Double(number) * 20
      script.tell(.lost(AttemptID(1), refused), at: at, [.refreshCredentials])
      script.tell(.credentials(.available(expiresIn: nil)), at: at + 1)
    }
  }

  @Test mutating func `once for the socket and once for requests is well`() {
    refuse(2)
    script.tell(.posted(OutboxEntry.number(1).id, .number(1)), at: 50)
    refuse(2)
    #expect(script.findings == [])
  }

  @Test mutating func `a third refusal in a row is found`() {
    refuse(3)
    let detail = "refreshed 3 times in a row for refusals"
    #expect(script.findings == [Finding(.storm, at: .second(40), detail)])
  }

  @Test(arguments: [(130.9, true), (131, false), (131.1, false)])
  mutating func `a third refusal in a row is well if the credentials may have expired`(
    second: Double, isFound: Bool
  ) {
    refuse(2)
    script.tell(.lost(AttemptID(1), refused), at: second, [.refreshCredentials])
    let detail = "refreshed 3 times in a row for refusals"
    #expect(script.findings == (isFound ? [Finding(.storm, at: .second(second), detail)] : []))
  }

  @Test(arguments: [HeldLink.CredentialsEvent.refreshFailed, nil])
  mutating func `a refresh that brought nothing may be made again`(
    answer: HeldLink.CredentialsEvent?
  ) {
    for number in 0..<5 {
      let at = Double(number) * 20
      script.tell(.lost(AttemptID(1), refused), at: at, [.refreshCredentials])
      if let answer { script.tell(.credentials(answer), at: at + 1) }
    }
    #expect(script.findings == [])
  }

  @Test mutating func `what an earlier run of the process refreshed is over`() {
    script.tell(.lost(AttemptID(1), refused), at: 0, [.refreshCredentials])
    script.see(.launched(.phone, run: 2), at: 1)
    script.tick(at: 2, [.refreshCredentials])
    #expect(script.findings == [])
  }

  @Test mutating func `before they expire is no refusal`() {
    for number in 0..<5 {
      script.tick(at: Double(number) * 20, [.refreshCredentials])
      script.tell(.credentials(.available(expiresIn: nil)), at: Double(number) * 20 + 1)
    }
    #expect(script.findings == [])
  }

  @Test(arguments: [(14.9, true), (15, false), (15.1, false)])
  mutating func `one refresh at a time, until it counts as failed`(second: Double, isFound: Bool) {
    script.tick(at: 0, [.refreshCredentials])
    script.tick(at: second, [.refreshCredentials])
    let detail = "credentials were refreshed while a refresh runs"
    #expect(script.findings == (isFound ? [Finding(.storm, at: .second(second), detail)] : []))
  }
}
