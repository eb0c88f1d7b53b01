import LinkCore
import Testing

@testable import HealthRelay

/// The test scenarios of the requirements in docs/seeds/000.md, in virtual time.
struct SeedScenarioTests {
  @Test(arguments: RelayProfile.allCases)
  func `a server down at the start causes two retries and one error, and a restart works`(
    profile: RelayProfile
  ) {
    var bench = RelayBench.started(profile)
    #expect(bench.state == .starting)
    bench.lose(.refused)
    bench.pass(.milliseconds(1_999))
    #expect(bench.opens == [0])
    bench.pass(.milliseconds(1))
    bench.lose(.refused)
    bench.pass(.seconds(2))
    bench.lose(.refused)
    #expect(bench.opens == [0, 2, 4])
    #expect(
      bench.statuses == [
        RelayStatus(.starting),
        RelayStatus(
          .starting, attempt: 1, of: 2, retryAt: .second(2), reason: .failure(.refused)),
        RelayStatus(.starting, attempt: 1, of: 2),
        RelayStatus(
          .starting, attempt: 2, of: 2, retryAt: .second(4), reason: .failure(.refused)),
        RelayStatus(.starting, attempt: 2, of: 2),
        RelayStatus(.error, reason: .exhausted(.refused)),
      ])
    #expect(bench.problems == [.connection(.refused)])
    #expect(bench.model.deadline == nil, "nothing is scheduled after the error")
    bench.pass(.seconds(3_600))
    #expect(bench.opens == [0, 2, 4])
    bench.give(.start)
    #expect(bench.state == .starting)
    bench.connect()
    #expect(bench.state == .running)
  }

  @Test(arguments: [RelayProfile.quick, .foreground])
  func `a dropped session reconnects with two retries and then ends in an error`(
    profile: RelayProfile
  ) {
    var bench = RelayBench.running(profile)
    bench.pass(.seconds(60))
    bench.forget()
    bench.lose(.reset)
    #expect(bench.state == .reconnecting)
    bench.pass(.seconds(2))
    bench.lose(.timeout(.connect))
    bench.pass(.seconds(2))
    #expect(bench.state == .reconnecting)
    bench.lose(.timeout(.connect))
    #expect(bench.opens == [62, 64])
    #expect(bench.state == .error)
    #expect(bench.problems == [.connection(.timeout(.connect))])
    #expect(bench.model.deadline == nil)
  }

  /// The default profile waits 2, 2, 4, 6, 8, 8 and five times 9 s, 75 s in total.
  @Test func `a dropped session of the default profile reconnects for 75 s and then is an error`() {
    var bench = RelayBench.running(.service)
    bench.pass(.seconds(60))
    bench.forget()
    bench.lose(.reset)
    let tries: [Double] = [2, 4, 8, 14, 22, 30, 39, 48, 57, 66, 75]
    for (index, time) in tries.enumerated() {
      #expect(bench.state == .reconnecting)
      #expect(bench.model.status.attempt == index + 1 && bench.model.status.of == 11)
      #expect(bench.model.status.retryAt == .second(60 + time))
      bench.pass(bench.now.duration(to: .second(60 + time)))
      bench.lose(.timeout(.connect))
    }
    #expect(bench.opens == tries.map { 60 + $0 })
    #expect(bench.state == .error)
    #expect(bench.problems == [.connection(.timeout(.connect))])
    #expect(bench.model.deadline == nil)
  }

  @Test func `a user's start retries at once and restarts the retry schedule`() {
    var bench = RelayBench.running(.service)
    bench.lose(.reset)
    for _ in 1...5 {
      while bench.attempt.number == 0 { bench.pass(.seconds(1)) }
      bench.lose(.refused)
    }
    #expect(bench.state == .reconnecting && bench.model.status.attempt == 6)
    bench.forget()
    bench.give(.start)
    #expect(bench.opens == [bench.seconds])
    bench.lose(.refused)
    #expect(bench.model.status.attempt == 1)
    #expect(bench.model.status.retryAt == bench.now.advanced(by: .seconds(2)))
  }

  @Test(arguments: [RelayProfile.service, .quick])
  func `15 idle minutes remove the notification and set the state to idle`(
    profile: RelayProfile
  ) {
    var bench = RelayBench.running(profile)
    bench.pass(.milliseconds(899_999))
    #expect(bench.state == .running)
    #expect(bench.take() == [])
    bench.pass(.milliseconds(1))
    #expect(bench.take() == [.close(AttemptID(1), code: 1000), .unnotify])
    #expect(bench.model.status == RelayStatus(.idle, reason: .ended(.idle)))
    #expect(bench.problems == [])
    bench.pass(.seconds(3_600))
    #expect(bench.opens == [])
  }

  @Test func `without a service the relay runs only in the foreground and does not reconnect`() {
    var bench = RelayBench.running(.foreground)
    bench.give(.lifecycle(.background))
    #expect(bench.take() == [.close(AttemptID(1), code: 1001)])
    #expect(bench.model.status == RelayStatus(.idle, reason: .ended(.background)))
    bench.pass(.seconds(3_600))
    bench.give(.lifecycle(.foreground))
    bench.give(.woke)
    bench.give(.reachability(.reachable(path: PathID("wwan0"))))
    bench.pass(.seconds(3_600))
    #expect(bench.opens == [])
    #expect(bench.state == .idle)
    bench.give(.start)
    bench.connect()
    #expect(bench.state == .running)
  }
}
