import HoldfastCore
import HoldfastRelayData
import Testing

@testable import HoldfastHealthRelay

struct RelayStateTests {
  @Test func `only a code makes the relay run, and the code must arrive within 10 s`() {
    var harness = RelayHarness.started(.service)
    harness.give(.opened(harness.attempt))
    harness.ask("a")
    harness.give(.ping(harness.attempt))
    #expect(harness.state == .starting)
    harness.pass(.milliseconds(9_999))
    #expect(harness.model.status == RelayStatus(.starting))
    harness.pass(.milliseconds(1))
    #expect(harness.model.status.reason == .failure(.timeout(.establish)))
    #expect(harness.problems == [])
  }

  @Test func `a code just before the time-out makes the relay run`() {
    var harness = RelayHarness.started(.foreground)
    harness.pass(.milliseconds(9_998))
    harness.connect()
    #expect(harness.state == .running)
  }

  @Test func `a server that sends a code and then closes gets only two retries`() {
    var harness = RelayHarness.started(.foreground)
    for _ in 0..<3 {
      harness.connect()
      harness.lose(.ended)
      harness.pass(.seconds(2))
    }
    #expect(harness.opens == [0, 2, 4])
    #expect(harness.state == .error)
  }

  @Test(arguments: [RelayStatus.State.error, .reconnecting])
  func `a session that lasted 30 s restores its retries`(state: RelayStatus.State) {
    let stood: Int64 = state == .error ? 29_999 : 30_000
    var harness = RelayHarness.started(.foreground)
    for _ in 0..<2 {
      harness.connect()
      harness.lose(.ended)
      harness.pass(.seconds(2))
    }
    harness.connect()
    harness.pass(.milliseconds(stood))
    harness.lose(.ended)
    #expect(harness.state == state)
  }

  @Test func `any backend message resets the 15-minute idle time-out, but pings and pongs do not`()
  {
    var harness = RelayHarness.running(.service)
    harness.pass(.seconds(600))
    harness.say(.unknown(type: "news", nil))
    harness.pass(.seconds(600))
    harness.give(.oversized(harness.attempt, bytes: 9_000_000))
    harness.pass(.seconds(600))
    #expect(harness.state == .running)
    harness.give(.ping(harness.attempt))
    harness.give(.pong(harness.attempt, 99))
    harness.pass(.milliseconds(299_999))
    #expect(harness.state == .running)
    harness.pass(.milliseconds(1))
    #expect(harness.state == .idle)
  }

  @Test func `the foreground profile has no idle time-out`() {
    var harness = RelayHarness.running(.foreground)
    harness.pass(.seconds(86_400))
    #expect(harness.state == .running)
  }

  @Test func `15 minutes without a network also end a service`() {
    var harness = RelayHarness.running(.service)
    harness.pass(.seconds(100))
    harness.give(.reachability(.unreachable))
    #expect(
      harness.model.status == RelayStatus(.reconnecting, reason: .blocked(.unreachable)))
    harness.pass(.milliseconds(799_999))
    #expect(harness.state == .reconnecting)
    _ = harness.take()
    harness.pass(.milliseconds(1))
    #expect(harness.model.status == RelayStatus(.idle, reason: .ended(.idle)))
    #expect(harness.take() == [.unnotify])
    harness.give(.reachability(.reachable(path: PathID("wlan0"))))
    harness.pass(.seconds(60))
    #expect(harness.opens == [])
    harness.give(.start)
    #expect(harness.state == .starting)
  }

  @Test func `a network that returns in time costs no retry`() {
    var harness = RelayHarness.running(.service)
    harness.give(.reachability(.unreachable))
    harness.pass(.seconds(500))
    harness.give(.reachability(.reachable(path: PathID("wlan0"))))
    #expect(harness.opens == [500])
    #expect(harness.state == .reconnecting)
    harness.connect(.resumed)
    #expect(harness.state == .running)
  }

  @Test func `a half-open link is found by its missing pong`() {
    var harness = RelayHarness.running(.service)
    harness.answersPings = false
    harness.pass(.milliseconds(34_999))
    #expect(harness.state == .running)
    harness.pass(.milliseconds(1))
    #expect(harness.state == .reconnecting)
  }

  @Test func `the relay is stopping until its connection has closed`() {
    var harness = RelayHarness.running(.service)
    harness.give(.stop)
    #expect(harness.state == .stopping)
    #expect(harness.take() == [.close(AttemptID(1), .leaving), .unnotify])
    harness.give(.closed(AttemptID(9)))
    #expect(harness.state == .stopping)
    harness.give(.closed(AttemptID(1)))
    #expect(harness.model.status == RelayStatus(.idle))
  }

  @Test func `closing the connection takes at most five seconds`() {
    var harness = RelayHarness.running(.service)
    harness.give(.stop)
    harness.pass(.milliseconds(4_999))
    #expect(harness.state == .stopping)
    harness.pass(.milliseconds(1))
    #expect(harness.state == .idle)
    harness.give(.closed(AttemptID(1)))
    #expect(harness.statuses.map(\.state) == [.stopping, .idle])
  }

  @Test func `a start while the relay is stopping begins a new session`() {
    var harness = RelayHarness.running(.service)
    harness.give(.stop)
    harness.give(.start)
    #expect(harness.state == .starting)
    harness.give(.closed(AttemptID(1)))
    harness.pass(.seconds(5))
    #expect(harness.state == .starting)
    #expect(harness.attempt == AttemptID(2))
  }

  @Test func `a stop ends a retry or an error, and does nothing before a start`() {
    var harness = RelayHarness(.service)
    harness.give(.stop)
    #expect(harness.statuses == [])
    harness.give(.start)
    harness.lose(.refused)
    harness.give(.stop)
    #expect(harness.model.status == RelayStatus(.idle))
    harness.give(.start)
    for _ in 0..<3 {
      harness.lose(.refused)
      harness.pass(.seconds(2))
    }
    #expect(harness.state == .error)
    harness.give(.stop)
    #expect(harness.model.status == RelayStatus(.idle))
  }

  @Test func `a second start changes nothing`() {
    var harness = RelayHarness.running(.service)
    harness.give(.start)
    #expect(harness.take() == [])
    #expect(harness.opens == [])
  }

  @Test func `a start in the background without a service reports why it fails`() {
    var harness = RelayHarness(.foreground)
    harness.give(.lifecycle(.background))
    harness.give(.start)
    #expect(harness.state == .idle)
    #expect(harness.problems == [.inBackground])
    harness.give(.lifecycle(.foreground))
    harness.give(.start)
    #expect(harness.opens == [0])
  }

  @Test func `a service keeps running and reconnects in the background`() {
    var harness = RelayHarness.running(.service)
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(600))
    #expect(harness.state == .running)
    harness.lose()
    harness.pass(.seconds(2))
    harness.connect(.resumed)
    #expect(harness.state == .running)
  }

  @Test(arguments: [
    LinkFailure.http(status: 401, retryAfter: nil, detail: ""),
    .http(status: 403, retryAfter: nil, detail: ""),
    .tls(.expired, detail: ""), .closed(code: 4409, reason: "replaced"),
  ])
  func `a failure that no retry can fix is an error at once`(failure: LinkFailure) {
    var harness = RelayHarness.started(.service)
    harness.lose(failure)
    #expect(harness.model.status == RelayStatus(.error, reason: .failure(failure)))
    #expect(harness.model.status.isFinal && harness.model.status.failure == failure)
    #expect(harness.problems == [.connection(failure)])
    harness.pass(.seconds(600))
    #expect(harness.opens == [0])
  }

  @Test func `a status names the failure and the time of the next retry`() {
    let status = RelayStatus(
      .reconnecting, attempt: 1, maxAttempts: 11, retryAt: .second(2), reason: .failure(.reset))
    #expect(!status.isFinal && status.failure == .reset)
    #expect(status.retryIn(at: .second(1)) == .seconds(1))
    #expect(status.retryIn(at: .second(3)) == .zero)
    #expect(status.description == "reconnecting, attempt 1 of 11: the connection was reset")
    #expect(RelayStatus(.running).description == "running")
    #expect(RelayStatus(.running).failure == nil)
  }

  @Test func `the notification is shown, updated and removed with the service`() {
    var harness = RelayHarness(.service)
    harness.give(.start)
    harness.connect()
    harness.lose()
    harness.pass(.seconds(2))
    harness.connect(.resumed)
    harness.give(.stop)
    let shown: [RelayStatus?] = harness.log.compactMap {
      switch $0 {
      case .notify(let status): .some(status)
      case .unnotify: .some(nil)
      case .open, .close, .ping, .read, .send, .discard, .fail, .refuse, .update: nil
      }
    }
    #expect(
      shown == [
        RelayStatus(.starting), RelayStatus(.running),
        RelayStatus(
          .reconnecting, attempt: 1, maxAttempts: 11, retryAt: .second(2),
          reason: .failure(.reset)),
        RelayStatus(.running), nil,
      ])
  }

  @Test func `the notification shows the number of the retry`() {
    var harness = RelayHarness(.service)
    harness.give(.start)
    harness.connect()
    harness.lose()
    harness.pass(.seconds(2))
    harness.lose()
    harness.pass(.seconds(30))
    harness.lose()
    let tries: [Int] = harness.log.compactMap {
      guard case .notify(let status) = $0, status.state == .reconnecting else { return nil }
      return status.attempt
    }
    #expect(Array(tries.prefix(3)) == [1, 2, 3])
  }

  @Test(arguments: [("!", true), ("~", true), ("\u{20}", false), ("\u{7F}", false)])
  func `a resume token is kept only if a header field can contain it`(
    last: String, isStored: Bool
  ) {
    let code = ConnectionCode(
      code: "123456", word: "harbour", message: "", expiresIn: nil, resumeToken: "t" + last,
      resumed: false, acceptsParts: true)
    guard case .paired(let welcome) = RelayModel.Message(.connectionCode(code)) else {
      Issue.record("no pair")
      return
    }
    #expect(welcome.resume == (isStored ? Secret("t" + last) : nil))
  }

  @Test func `an assistant is shown once, and a code that only reports one is not shown again`() {
    var harness = RelayHarness.running(.foreground)
    harness.forget()
    let assistant = PairedAssistants.Assistant(
      id: "3f9a", name: AssistantName("Pad"), since: nil, lastQuestion: nil,
      expiresAt: Timestamp(nanoseconds: 0))
    var welcome = RelayModel.Welcome.first
    welcome.newAssistants = [assistant]
    harness.say(.paired(welcome))
    #expect(harness.log == [.update(.assistant(assistant))])
    harness.forget()
    // Another code, or another text, is shown as well.
    welcome.pair.message = Secret("Pad was signed out.")
    harness.say(.paired(welcome))
    #expect(harness.log == [.update(.assistant(assistant)), .update(.pair(welcome.pair))])
    harness.forget()
    // So is the same code of a backend that reports no assistant.
    harness.say(.paired(.first))
    harness.say(.paired(.first))
    #expect(
      harness.log == Array(repeating: .update(.pair(RelayModel.Welcome.first.pair)), count: 2))
  }

  @Test func `without a service there is no notification`() {
    var harness = RelayHarness.running(.foreground)
    harness.lose()
    harness.give(.stop)
    let hasAny = harness.log.contains {
      switch $0 {
      case .notify, .unnotify: true
      case .open, .close, .ping, .read, .send, .discard, .fail, .refuse, .update: false
      }
    }
    #expect(!hasAny)
  }

  @Test func `problems are reported at most once in 30 s, with the number of withheld ones`() {
    var harness = RelayHarness.running(.service)
    for _ in 0..<3 { harness.say(.unknown(type: "x", nil)) }
    harness.pass(.milliseconds(29_999))
    harness.say(.unknown(type: "x", nil))
    #expect(harness.problems == [.unknownType("x")])
    harness.pass(.milliseconds(1))
    harness.forget()
    harness.say(.unknown(type: "y", nil))
    #expect(harness.log.contains(.update(.problem(.unknownType("y"), withheld: 3))))
  }
}
