import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct HasteTests {
  private var script = Script(Haste<StreamFeature>())
  private let one = AttemptID(1)

  private mutating func open() {
    script.tell(.opened(one, head: nil), at: 0)
  }

  private mutating func close(at second: Double, phase: LinkStatus.Phase = .reconnecting) {
    script.facts.status.phase = phase
    script.tick(at: second, [.close(one, code: 1001)])
  }

  @Test(arguments: [(89.9, true), (90, false), (90.1, false)])
  mutating func `a connection may be closed after 90 s of silence`(second: Double, isFound: Bool) {
    open()
    close(at: second)
    #expect(script.findings.map(\.kind) == (isFound ? [.needless] : []))
  }

  @Test(arguments: [
    StreamModel.Input.ping(AttemptID(1)), .frame(AttemptID(1), .message(.number(1))),
    .pong(AttemptID(1), 1), .oversized(AttemptID(1), bytes: 1),
  ])
  mutating func `each sign of life counts`(input: StreamModel.Input) {
    open()
    script.tell(input, at: 60)
    close(at: 100)
    let detail = "closed as silent 40.0 seconds after a sign of life"
    #expect(script.findings == [Finding(.needless, at: .second(100), detail)])
  }

  @Test(arguments: [(29.9, true), (30, false)])
  mutating func `a ping that is not answered for 10 s may end it`(second: Double, isFound: Bool) {
    open()
    script.tick(at: 20, [.ping(one, 1)])
    close(at: second)
    #expect(script.findings.count == (isFound ? 1 : 0))
  }

  @Test mutating func `what comes after the ping proves life as its answer does`() {
    open()
    script.tick(at: 20, [.ping(one, 1)])
    script.tell(.ping(one), at: 25)
    close(at: 34)
    #expect(script.findings.count == 1)
  }

  @Test mutating func `what is said of an older connection is no sign of life`() {
    open()
    script.tell(.ping(one), isLate: true, at: 60)
    close(at: 90)
    #expect(script.findings == [])
  }

  @Test mutating func `an input may end it, and a dial that takes too long does`() {
    open()
    script.tell(.reachability(.unreachable), at: 1, [.close(one, code: 1001)])
    script.facts.status.phase = .connecting
    script.tick(at: 2, [.open(AttemptID(2))])
    script.tick(at: 7, [.close(AttemptID(2), code: 1001)])
    #expect(script.findings == [])
  }

  @Test mutating func `idleness and the background are other reasons`() {
    open()
    script.facts.status.reason = .ended(.idle)
    close(at: 1, phase: .disconnected)
    script.facts = .connected
    open()
    script.tell(.lifecycle(.background, at: Message.start), at: 2)
    close(at: 2, phase: .held)
    #expect(script.findings == [])
  }
}

struct WishesTests {
  private var script = Script(Wishes<StreamFeature>())

  private static func busy(_ seconds: Int) -> LinkFailure {
    .http(status: 503, retryAfter: .seconds(seconds), detail: "")
  }

  @Test(arguments: [(29.9, true), (30, false), (30.1, false)])
  mutating func `no try comes before the time that the server names`(
    second: Double, isFound: Bool
  ) {
    script.tell(.lost(AttemptID(1), Self.busy(30)), at: 0)
    script.tick(at: second, [.open(AttemptID(2))])
    #expect(script.findings.map(\.kind) == (isFound ? [.storm] : []))
  }

  @Test(arguments: [(899.0, true), (900, false)])
  mutating func `no wish is obeyed for longer than the policy says`(second: Double, isFound: Bool) {
    script.tell(.lost(AttemptID(1), Self.busy(5000)), at: 0)
    script.tick(at: second, [.open(AttemptID(2))])
    #expect(script.findings.count == (isFound ? 1 : 0))
  }

  @Test mutating func `a wish ends with the process, and none is in a late event`() {
    script.tell(.lost(AttemptID(0), Self.busy(30)), isLate: true, at: 0)
    script.tick(at: 1, [.open(AttemptID(2))])
    script.tell(.lost(AttemptID(2), Self.busy(30)), at: 2)
    script.see(.launched(.phone, run: 2), at: 3)
    script.tick(at: 4, [.open(AttemptID(1))])
    #expect(script.findings == [])
  }

  /// Returns that come after a share of the window of a drain.
  private mutating func comeBack(_ times: Int, after share: Double, isAsked: Bool = false) {
    for number in 0..<times {
      let (attempt, at) = (AttemptID(UInt64(number + 1)), Double(number) * 1000)
      script.tell(.frame(attempt, .draining(within: .seconds(300))), at: at)
      script.tell(.lost(attempt, .closed(code: 1001, reason: "")), at: at + 1)
      if isAsked { script.tell(.refresh, at: at + 1) }
      script.tick(at: at + 1 + 300 * share, [.open(AttemptID(UInt64(number + 2)))])
    }
  }

  @Test mutating func `two returns at once are more than chance makes`() {
    comeBack(2, after: 0)
    let detail = "came back 2 times too early in the window of a drain"
    #expect(script.findings == [Finding(.storm, at: .second(1001), detail)])
  }

  @Test(arguments: [(7, 0), (8, 1)])
  mutating func `a spread of 2 s in a window of 300 s is found at the eighth`(
    times: Int, count: Int
  ) {
    comeBack(times, after: 2.0 / 300)
    #expect(script.findings.count == count)
  }

  @Test mutating func `returns in the middle of the window, or for a reason, are well`() {
    comeBack(50, after: 0.3)
    comeBack(50, after: 0, isAsked: true)
    #expect(script.findings == [])
  }
}

struct RefreshTimesTests {
  private var script = Script(RefreshTimes<StreamFeature>())

  private mutating func give(_ seconds: Int, at second: Double = 0) {
    script.tell(.credentials(.available(expiresIn: .seconds(seconds))), at: second)
  }

  @Test(arguments: [(539.9, true), (540, false), (540.9, false)])
  mutating func `a token of 10 minutes is due a minute before its end`(
    second: Double, isFound: Bool
  ) {
    give(600)
    script.tick(at: second, [.refreshCredentials])
    #expect(script.findings.map(\.kind) == (isFound ? [.storm] : []))
  }

  @Test(arguments: [(29.9, true), (30, false)])
  mutating func `one of a minute is due at its half`(second: Double, isFound: Bool) {
    give(60)
    script.tick(at: second, [.refreshCredentials])
    #expect(script.findings.count == (isFound ? 1 : 0))
  }

  @Test(arguments: [(541.0, 0), (541.1, 1)])
  mutating func `what is due must be done within a second`(second: Double, count: Int) {
    give(600)
    script.tick(at: second)
    #expect(script.findings.map(\.kind) == Array(repeating: .stuck, count: count))
  }

  @Test(arguments: [LinkStatus.Phase.failed, .disconnected, .connected])
  mutating func `it must be done while the link is wanted and not ended`(phase: LinkStatus.Phase) {
    script.facts.status.phase = phase
    script.facts.isWanted = phase != .connected
    give(600)
    script.tick(at: 1000)
    script.facts = .connected
    script.tick(at: 1001)
    script.tick(at: 1001.5, [.refreshCredentials])
    #expect(script.findings == [])
  }

  @Test mutating func `a refusal makes them due, and so does it that there are none`() {
    script.tick(at: 0, [.refreshCredentials])
    give(600, at: 1)
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    script.tell(.lost(AttemptID(1), refused), at: 2, [.refreshCredentials])
    give(600, at: 3)
    script.tell(.fetchFailed(FetchID(1), refused), at: 4, [.refreshCredentials])
    #expect(script.findings == [])
    script.tell(.credentials(.cleared), at: 5)
    script.tick(at: 6, [.refreshCredentials])
    #expect(script.findings == [])
  }

  @Test(arguments: [(15.9, true), (16, false)])
  mutating func `one that failed is made again after its time limit`(second: Double, isFound: Bool)
  {
    give(600)
    script.tell(.credentials(.refreshFailed), at: 1)
    script.tick(at: second, [.refreshCredentials])
    #expect(script.findings.count == (isFound ? 1 : 0))
  }

  @Test mutating func `a life that is not known is no cause`() {
    script.tell(.credentials(.available(expiresIn: nil)), at: 0)
    script.tick(at: 1000, [.refreshCredentials])
    let detail = "credentials were refreshed without a cause"
    #expect(script.findings == [Finding(.storm, at: .second(1000), detail)])
  }
}

struct SignInsTests {
  private var script = Script(SignIns<StreamFeature>())
  private let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
  private let renewed = StreamModel.Input.credentials(.available(expiresIn: nil))
  private let signIn = StreamModel.Effect.update(.notice(.signIn))

  private mutating func open(_ number: UInt64, at second: Double) {
    script.tick(at: second, [.open(AttemptID(number))])
  }

  private mutating func refuse(_ number: UInt64, at second: Double, asks: Bool = false) {
    script.tell(.lost(AttemptID(number), refused), at: second, asks ? [signIn] : [])
  }

  private static let detail = "the user is asked to sign in without need"

  @Test mutating func `new credentials that are refused as those before ask the user`() {
    script.tell(renewed, at: 0)
    open(1, at: 1)
    refuse(1, at: 2)
    script.tell(renewed, at: 3)
    open(2, at: 3)
    refuse(2, at: 4, asks: true)
    #expect(script.findings == [])
  }

  @Test mutating func `the first refusal does not`() {
    script.tell(renewed, at: 0)
    open(1, at: 1)
    refuse(1, at: 2, asks: true)
    #expect(script.findings == [Finding(.needless, at: .second(2), Self.detail)])
  }

  @Test(arguments: [(0.9, false), (1, true), (1.1, true)])
  mutating func `a connection that stood for a second has shown that they were taken`(
    standing: Double, isFound: Bool
  ) {
    script.tell(renewed, at: 0)
    open(1, at: 1)
    refuse(1, at: 2)
    script.tell(renewed, at: 3)
    open(2, at: 3)
    script.tell(.opened(AttemptID(2), head: nil), at: 4)
    refuse(2, at: 4 + standing, asks: true)
    #expect(script.findings.count == (isFound ? 1 : 0))
  }

  @Test mutating func `the refusal of what was opened with older ones says nothing`() {
    script.tell(renewed, at: 0)
    open(1, at: 1)
    refuse(1, at: 2)
    open(2, at: 3)
    script.tell(renewed, at: 4)
    refuse(2, at: 5, asks: true)
    #expect(script.findings == [Finding(.needless, at: .second(5), Self.detail)])
  }

  @Test mutating func `a request that was answered has shown it for requests`() {
    script.tell(renewed, at: 0)
    script.tell(.fetchFailed(FetchID(1), refused), at: 1)
    script.tell(renewed, at: 2)
    script.tell(.fetched(FetchID(2), Page(messages: [], hasNext: false)), at: 3)
    script.see(.launched(.phone, run: 2), at: 4)
    script.tell(renewed, at: 5)
    script.tell(.fetchFailed(FetchID(1), refused), at: 6, [signIn])
    #expect(script.findings == [Finding(.needless, at: .second(6), Self.detail)])
  }

  @Test(arguments: [(29.9, 0), (30, 1)])
  mutating func `an answer soon after new credentials may be a copy of an older one`(
    wait: Double, count: Int
  ) {
    script.tell(renewed, at: 0)
    open(1, at: 0)
    script.tell(.opened(AttemptID(1), head: nil), at: 0.5)
    script.tell(.fetchFailed(FetchID(1), refused), at: 1)
    script.tell(renewed, at: 2)
    script.tell(.fetched(FetchID(2), Page(messages: [], hasNext: false)), at: 2 + wait)
    script.tell(.lost(AttemptID(1), .reset), at: 35)
    script.tell(.fetchFailed(FetchID(3), refused), at: 40, [signIn])
    #expect(script.findings.count == count)
  }

  @Test(arguments: [false, true])
  mutating func `an issuer that gives none asks the user if the server refused those there are`(
    isRefused: Bool
  ) {
    script.tell(renewed, at: 0)
    open(1, at: 1)
    if isRefused { refuse(1, at: 2) }
    script.tell(.credentials(.rejected), at: 3, [signIn])
    #expect(script.findings.count == (isRefused ? 0 : 1))
  }

  @Test(arguments: [HeldLink.CredentialsEvent.rejected, .cleared])
  mutating func `without credentials the user is asked`(event: HeldLink.CredentialsEvent) {
    script.tell(.credentials(event), at: 0, [signIn])
    #expect(script.findings == [])
  }
}

struct LeavingTests {
  private var script = Script(Leaving<StreamFeature>())

  private static let effects: [(StreamModel.Effect, String)] = [
    (.open(AttemptID(2)), "a connection was tried"),
    (.ping(AttemptID(2), 1), "a ping was sent"),
    (.refreshCredentials, "credentials were refreshed"),
    (.fetch(FetchID(1), .page(number: 1, limit: 50)), "a request was sent"),
    (.post(.number(1), try: TryID(1)), "a request was sent"),
  ]

  @Test(arguments: 0..<5) mutating func `nothing goes out after the user left`(which: Int) {
    let (effect, words) = Self.effects[which]
    script.tell(.open(at: Message.start), at: 0, [effect])
    #expect(script.findings == [])
    script.tell(.close, at: 1, [.close(AttemptID(2), code: 1000), .load(limit: 10)])
    script.tick(at: 2, [effect])
    #expect(script.findings == [Finding(.storm, at: .second(2), "\(words) after the user left")])
  }

  @Test mutating func `nothing goes out before the user wants it, in each run`() {
    script.tick(at: 0, [.open(AttemptID(1))])
    script.tell(.open(at: Message.start), at: 1)
    script.see(.launched(.phone, run: 2), at: 2)
    script.tick(at: 3, [.open(AttemptID(1))])
    #expect(script.findings.map(\.at) == [.zero, .second(3)])
  }
}
