import HoldfastCore
import Testing

@testable import HoldfastHealthRelay

/// Tests of the scenarios in the requirements of docs/requirements/000.md, in virtual time.
struct SeedScenarioTests {
  @Test(arguments: RelayProfile.allCases)
  func `a server down at the start causes two retries and one error, and a restart works`(
    profile: RelayProfile
  ) {
    var harness = RelayHarness.started(profile)
    #expect(harness.state == .starting)
    harness.lose(.refused)
    harness.pass(.milliseconds(1_999))
    #expect(harness.opens == [0])
    harness.pass(.milliseconds(1))
    harness.lose(.refused)
    harness.pass(.seconds(2))
    harness.lose(.refused)
    #expect(harness.opens == [0, 2, 4])
    #expect(
      harness.statuses == [
        RelayStatus(.starting),
        RelayStatus(
          .starting, attempt: 1, maxAttempts: 2, retryAt: .second(2),
          reason: .failure(.refused)),
        RelayStatus(.starting, attempt: 1, maxAttempts: 2),
        RelayStatus(
          .starting, attempt: 2, maxAttempts: 2, retryAt: .second(4),
          reason: .failure(.refused)),
        RelayStatus(.starting, attempt: 2, maxAttempts: 2),
        RelayStatus(.error, reason: .exhausted(.refused)),
      ])
    #expect(harness.problems == [.connection(.refused)])
    #expect(harness.model.deadline == nil, "nothing is scheduled after the error")
    harness.pass(.seconds(3_600))
    #expect(harness.opens == [0, 2, 4])
    harness.give(.start)
    #expect(harness.state == .starting)
    harness.connect()
    #expect(harness.state == .running)
  }

  @Test(arguments: [RelayProfile.quick, .foreground])
  func `a dropped session reconnects with two retries and then ends in an error`(
    profile: RelayProfile
  ) {
    var harness = RelayHarness.running(profile)
    harness.pass(.seconds(60))
    harness.forget()
    harness.lose(.reset)
    #expect(harness.state == .reconnecting)
    harness.pass(.seconds(2))
    harness.lose(.timeout(.connect))
    harness.pass(.seconds(2))
    #expect(harness.state == .reconnecting)
    harness.lose(.timeout(.connect))
    #expect(harness.opens == [62, 64])
    #expect(harness.state == .error)
    #expect(harness.problems == [.connection(.timeout(.connect))])
    #expect(harness.model.deadline == nil)
  }

  /// The default profile waits 2, 2, 4, 6, 8, 8 and five times 9 s, which is 75 s in total.
  @Test func `a dropped session of the default profile reconnects for 75 s and then is an error`() {
    var harness = RelayHarness.running(.service)
    harness.pass(.seconds(60))
    harness.forget()
    harness.lose(.reset)
    let tries: [Double] = [2, 4, 8, 14, 22, 30, 39, 48, 57, 66, 75]
    for (index, time) in tries.enumerated() {
      #expect(harness.state == .reconnecting)
      #expect(harness.model.status.attempt == index + 1 && harness.model.status.maxAttempts == 11)
      #expect(harness.model.status.retryAt == .second(60 + time))
      harness.pass(harness.now.duration(to: .second(60 + time)))
      harness.lose(.timeout(.connect))
    }
    #expect(harness.opens == tries.map { 60 + $0 })
    #expect(harness.state == .error)
    #expect(harness.problems == [.connection(.timeout(.connect))])
    #expect(harness.model.deadline == nil)
  }

  @Test func `a user's start retries at once and restarts the retry schedule`() {
    var harness = RelayHarness.running(.service)
    harness.lose(.reset)
    for _ in 1...5 {
      while harness.attempt.number == 0 { harness.pass(.seconds(1)) }
      harness.lose(.refused)
    }
    #expect(harness.state == .reconnecting && harness.model.status.attempt == 6)
    harness.forget()
    harness.give(.start)
    #expect(harness.opens == [harness.seconds])
    harness.lose(.refused)
    #expect(harness.model.status.attempt == 1)
    #expect(harness.model.status.retryAt == harness.now.advanced(by: .seconds(2)))
  }

  @Test(arguments: [RelayProfile.service, .quick])
  func `15 idle minutes remove the notification and set the state to idle`(
    profile: RelayProfile
  ) {
    var harness = RelayHarness.running(profile)
    harness.pass(.milliseconds(899_999))
    #expect(harness.state == .running)
    #expect(harness.take() == [])
    harness.pass(.milliseconds(1))
    #expect(harness.take() == [.close(AttemptID(1), .idle), .unnotify])
    #expect(harness.model.status == RelayStatus(.idle, reason: .ended(.idle)))
    #expect(harness.problems == [])
    harness.pass(.seconds(3_600))
    #expect(harness.opens == [])
  }

  @Test func `without a service the relay runs only in the foreground and does not reconnect`() {
    var harness = RelayHarness.running(.foreground)
    harness.give(.lifecycle(.background))
    #expect(harness.take() == [.close(AttemptID(1), .background)])
    #expect(harness.model.status == RelayStatus(.idle, reason: .ended(.background)))
    harness.pass(.seconds(3_600))
    harness.give(.lifecycle(.foreground))
    harness.give(.woke)
    harness.give(.reachability(.reachable(path: PathID("wwan0"))))
    harness.pass(.seconds(3_600))
    #expect(harness.opens == [])
    #expect(harness.state == .idle)
    harness.give(.start)
    harness.connect()
    #expect(harness.state == .running)
  }
}
