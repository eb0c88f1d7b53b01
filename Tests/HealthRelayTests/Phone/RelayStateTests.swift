import LinkCore
import LinkWire
import Testing

@testable import HealthRelay

struct RelayStateTests {
  @Test func `only a code makes the relay run, and the code must arrive within 10 s`() {
    var bench = RelayBench.started(.service)
    bench.give(.opened(bench.attempt))
    bench.ask("a")
    bench.give(.ping(bench.attempt))
    #expect(bench.state == .starting)
    bench.pass(.milliseconds(9_999))
    #expect(bench.model.status == RelayStatus(.starting))
    bench.pass(.milliseconds(1))
    #expect(bench.model.status.reason == .failure(.timeout(.establish)))
    #expect(bench.problems == [])
  }

  @Test func `a code just before the time-out makes the relay run`() {
    var bench = RelayBench.started(.foreground)
    bench.pass(.milliseconds(9_998))
    bench.connect()
    #expect(bench.state == .running)
  }

  @Test func `a server that sends a code and then closes gets only two retries`() {
    var bench = RelayBench.started(.foreground)
    for _ in 0..<3 {
      bench.connect()
      bench.lose(.ended)
      bench.pass(.seconds(2))
    }
    #expect(bench.opens == [0, 2, 4])
    #expect(bench.state == .error)
  }

  @Test(arguments: [RelayStatus.State.error, .reconnecting])
  func `a session that lasted 30 s restores its retries`(state: RelayStatus.State) {
    let stood: Int64 = state == .error ? 29_999 : 30_000
    var bench = RelayBench.started(.foreground)
    for _ in 0..<2 {
      bench.connect()
      bench.lose(.ended)
      bench.pass(.seconds(2))
    }
    bench.connect()
    bench.pass(.milliseconds(stood))
    bench.lose(.ended)
    #expect(bench.state == state)
  }

  @Test func `any backend message resets the 15-minute idle time-out, but pings and pongs do not`()
  {
    var bench = RelayBench.running(.service)
    bench.pass(.seconds(600))
    bench.say(.unknown(type: "news", nil))
    bench.pass(.seconds(600))
    bench.give(.oversized(bench.attempt, bytes: 9_000_000))
    bench.pass(.seconds(600))
    #expect(bench.state == .running)
    bench.give(.ping(bench.attempt))
    bench.give(.pong(bench.attempt, 99))
    bench.pass(.milliseconds(299_999))
    #expect(bench.state == .running)
    bench.pass(.milliseconds(1))
    #expect(bench.state == .idle)
  }

  @Test func `the foreground profile has no idle time-out`() {
    var bench = RelayBench.running(.foreground)
    bench.pass(.seconds(86_400))
    #expect(bench.state == .running)
  }

  @Test func `15 minutes without a network also end a service`() {
    var bench = RelayBench.running(.service)
    bench.pass(.seconds(100))
    bench.give(.reachability(.unreachable))
    #expect(
      bench.model.status == RelayStatus(.reconnecting, reason: .blocked(.unreachable)))
    bench.pass(.milliseconds(799_999))
    #expect(bench.state == .reconnecting)
    _ = bench.take()
    bench.pass(.milliseconds(1))
    #expect(bench.model.status == RelayStatus(.idle, reason: .ended(.idle)))
    #expect(bench.take() == [.unnotify])
    bench.give(.reachability(.reachable(path: PathID("wlan0"))))
    bench.pass(.seconds(60))
    #expect(bench.opens == [])
    bench.give(.start)
    #expect(bench.state == .starting)
  }

  @Test func `a network that returns in time costs no retry`() {
    var bench = RelayBench.running(.service)
    bench.give(.reachability(.unreachable))
    bench.pass(.seconds(500))
    bench.give(.reachability(.reachable(path: PathID("wlan0"))))
    #expect(bench.opens == [500])
    #expect(bench.state == .reconnecting)
    bench.connect(.resumed)
    #expect(bench.state == .running)
  }

  @Test func `a half-open link is found by its missing pong`() {
    var bench = RelayBench.running(.service)
    bench.answersPings = false
    bench.pass(.milliseconds(34_999))
    #expect(bench.state == .running)
    bench.pass(.milliseconds(1))
    #expect(bench.state == .reconnecting)
  }

  @Test func `the relay is stopping until its connection has closed`() {
    var bench = RelayBench.running(.service)
    bench.give(.stop)
    #expect(bench.state == .stopping)
    #expect(bench.take() == [.close(AttemptID(1), code: 1000), .unnotify])
    bench.give(.closed(AttemptID(9)))
    #expect(bench.state == .stopping)
    bench.give(.closed(AttemptID(1)))
    #expect(bench.model.status == RelayStatus(.idle))
  }

  @Test func `closing the connection takes at most five seconds`() {
    var bench = RelayBench.running(.service)
    bench.give(.stop)
    bench.pass(.milliseconds(4_999))
    #expect(bench.state == .stopping)
    bench.pass(.milliseconds(1))
    #expect(bench.state == .idle)
    bench.give(.closed(AttemptID(1)))
    #expect(bench.statuses.map(\.state) == [.stopping, .idle])
  }

  @Test func `a start while the relay is stopping begins a new session`() {
    var bench = RelayBench.running(.service)
    bench.give(.stop)
    bench.give(.start)
    #expect(bench.state == .starting)
    bench.give(.closed(AttemptID(1)))
    bench.pass(.seconds(5))
    #expect(bench.state == .starting)
    #expect(bench.attempt == AttemptID(2))
  }

  @Test func `a stop ends a retry or an error, and does nothing before a start`() {
    var bench = RelayBench(.service)
    bench.give(.stop)
    #expect(bench.statuses == [])
    bench.give(.start)
    bench.lose(.refused)
    bench.give(.stop)
    #expect(bench.model.status == RelayStatus(.idle))
    bench.give(.start)
    for _ in 0..<3 {
      bench.lose(.refused)
      bench.pass(.seconds(2))
    }
    #expect(bench.state == .error)
    bench.give(.stop)
    #expect(bench.model.status == RelayStatus(.idle))
  }

  @Test func `a second start changes nothing`() {
    var bench = RelayBench.running(.service)
    bench.give(.start)
    #expect(bench.take() == [])
    #expect(bench.opens == [])
  }

  @Test func `a start in the background without a service reports why it fails`() {
    var bench = RelayBench(.foreground)
    bench.give(.lifecycle(.background))
    bench.give(.start)
    #expect(bench.state == .idle)
    #expect(bench.problems == [.inBackground])
    bench.give(.lifecycle(.foreground))
    bench.give(.start)
    #expect(bench.opens == [0])
  }

  @Test func `a service keeps running and reconnects in the background`() {
    var bench = RelayBench.running(.service)
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(600))
    #expect(bench.state == .running)
    bench.lose()
    bench.pass(.seconds(2))
    bench.connect(.resumed)
    #expect(bench.state == .running)
  }

  @Test(arguments: [
    LinkFailure.http(status: 401, retryAfter: nil, detail: ""),
    .http(status: 403, retryAfter: nil, detail: ""),
    .tls(.expired, detail: ""), .closed(code: 4409, reason: "replaced"),
  ])
  func `a failure that no retry can fix is an error at once`(failure: LinkFailure) {
    var bench = RelayBench.started(.service)
    bench.lose(failure)
    #expect(bench.model.status == RelayStatus(.error, reason: .failure(failure)))
    #expect(bench.problems == [.connection(failure)])
    bench.pass(.seconds(600))
    #expect(bench.opens == [0])
  }

  @Test func `the notification is shown, updated and removed with the service`() {
    var bench = RelayBench(.service)
    bench.give(.start)
    bench.connect()
    bench.lose()
    bench.pass(.seconds(2))
    bench.connect(.resumed)
    bench.give(.stop)
    let shown: [RelayStatus?] = bench.log.compactMap {
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
          .reconnecting, attempt: 1, of: 11, retryAt: .second(2), reason: .failure(.reset)),
        RelayStatus(.running), nil,
      ])
  }

  @Test func `the notification shows the number of the retry`() {
    var bench = RelayBench(.service)
    bench.give(.start)
    bench.connect()
    bench.lose()
    bench.pass(.seconds(2))
    bench.lose()
    bench.pass(.seconds(30))
    bench.lose()
    let tries: [Int] = bench.log.compactMap {
      guard case .notify(let status) = $0, status.state == .reconnecting else { return nil }
      return status.attempt
    }
    #expect(Array(tries.prefix(3)) == [1, 2, 3])
  }

  @Test(arguments: [("!", true), ("~", true), ("\u{20}", false), ("\u{7F}", false)])
  func `a resume token is kept only if a header field can contain it`(
    last: String, isKept: Bool
  ) {
    let code = ConnectionCode(
      code: "123456", word: "harbour", message: "", expiresIn: nil, resumeToken: "t" + last,
      resumed: false, acceptsParts: true)
    guard case .paired(let welcome) = RelayModel.Message(.connectionCode(code)) else {
      Issue.record("no pair")
      return
    }
    #expect(welcome.resume == (isKept ? Secret("t" + last) : nil))
  }

  @Test func `without a service there is no notification`() {
    var bench = RelayBench.running(.foreground)
    bench.lose()
    bench.give(.stop)
    let hasAny = bench.log.contains {
      switch $0 {
      case .notify, .unnotify: true
      case .open, .close, .ping, .read, .send, .discard, .fail, .refuse, .update: false
      }
    }
    #expect(!hasAny)
  }

  @Test func `problems are reported at most once in 30 s, with the number of withheld ones`() {
    var bench = RelayBench.running(.service)
    for _ in 0..<3 { bench.say(.unknown(type: "x", nil)) }
    bench.pass(.milliseconds(29_999))
    bench.say(.unknown(type: "x", nil))
    #expect(bench.problems == [.unknownType("x")])
    bench.pass(.milliseconds(1))
    bench.forget()
    bench.say(.unknown(type: "y", nil))
    #expect(bench.log.contains(.update(.problem(.unknownType("y"), withheld: 3))))
  }
}
