import LinkCore
import LinkWire
import Testing

@testable import Session

/// Tests of the inputs that count as a sign of life of a connection, and of those that do not.
@Suite struct SignOfLifeTests {
  /// Returns a session on a link without pings, which ends 90 s after the last sign of life.
  private static func silent() throws -> SessionBench {
    let policy = try LinkPolicy.session.setting([("liveness.ping", "off")])
    return SessionBench.connected(policy: policy)
  }

  /// Returns how long a second 20-second prompt may delay pings after a first one without an ack.
  private static func deafness(after sign: (inout SessionBench) -> Void) -> Duration? {
    var bench = SessionBench.connected()
    bench.answersPings = false
    let text = String(repeating: "x", count: 20 * 16_384)
    bench.prompt(text)
    bench.pass(.seconds(31))
    sign(&bench)
    bench.prompt(text, in: "d")
    return bench.model.connection?.upload.map { bench.now.duration(to: $0.deafUntil) }
  }

  @Test func `a long prompt may delay pings if the server was heard since the previous one`() {
    let unheard = Self.deafness { _ in }
    #expect(unheard == .zero)
    let heard = [
      Self.deafness { bench in bench.say(.heartbeat(nil)) },
      Self.deafness { bench in bench.give(.malformed(bench.attempt, detail: "")) },
      Self.deafness { bench in bench.give(.reading(bench.attempt, isPaused: false)) },
    ]
    #expect(heard == [.seconds(20), .seconds(20), .seconds(20)])
  }

  @Test func `a malformed message is a sign of life`() throws {
    var bench = try Self.silent()
    bench.pass(.seconds(89))
    bench.give(.malformed(bench.attempt, detail: ""))
    bench.pass(.seconds(89))
    #expect(bench.model.isConnected)
    bench.pass(.seconds(1))
    #expect(!bench.model.isConnected)
  }

  @Test func `an early tick is no sign of life`() throws {
    var bench = try Self.silent()
    bench.prompt(String(repeating: "x", count: 30 * 16_384))
    bench.pass(.seconds(20))
    _ = bench.model.tick(at: bench.now)
    bench.pass(.seconds(70))
    #expect(!bench.model.isConnected)
  }

  @Test func `a short prompt at the end of the silence changes nothing`() throws {
    var bench = try Self.silent()
    bench.pass(.seconds(90) - .nanoseconds(1))
    bench.now = bench.now.advanced(by: .nanoseconds(1))
    bench.prompt("short")
    #expect(bench.model.isConnected)
    bench.pass(.zero)
    #expect(!bench.model.isConnected)
  }

  @Test func `an older socket that is not read does not affect the current one`() throws {
    var bench = try Self.silent()
    bench.give(.reading(AttemptID(99), isPaused: true))
    bench.pass(.seconds(90))
    #expect(!bench.model.isConnected)
  }

  @Test func `an accepted short prompt does not end the wait for a large one`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    bench.prompt("short")
    bench.pass(.seconds(10))
    bench.prompt(String(repeating: "x", count: 100 * 1_024), in: "d")
    #expect(bench.prompts.count == 2)
    let attempt = bench.attempt
    bench.ack(bench.key("short"))
    for _ in 0..<8 {
      bench.pass(.seconds(10))
      bench.give(.link(.ping(attempt), at: bench.wall))
    }
    #expect(bench.attempt == attempt && bench.model.isConnected)
  }

  @Test func `a control frame is no sign of life after the time limit of a large prompt`() throws {
    var bench = try Self.silent()
    bench.prompt(String(repeating: "x", count: 100 * 1_024))
    for _ in 1...4 {
      bench.pass(.seconds(60))
      bench.say(.heartbeat(nil))
    }
    bench.pass(.seconds(60))
    #expect(bench.model.isConnected)
    #expect(bench.model.connection?.large?.until == bench.now)
    bench.give(.link(.ping(bench.attempt), at: bench.wall))
    bench.pass(.seconds(60))
    #expect(!bench.model.isConnected)
  }

  @Test func `a prompt that timed out at a plain server is no longer awaited`() {
    var bench = SessionBench.connected([])
    bench.prompt(String(repeating: "x", count: 100 * 1_024))
    #expect(bench.model.connection?.large != nil)
    bench.pass(.seconds(300))
    #expect(bench.reason == SessionModel.unsureReason)
    #expect(bench.model.connection != nil)
    #expect(bench.model.connection?.large == nil)
  }
}
