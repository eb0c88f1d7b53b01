import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the inputs that count as a sign of life of a connection, and of those that do not.
@Suite struct SignOfLifeTests {
  /// Returns a session on a link without pings. The connection ends 90 s after the last sign of
  /// life.
  private static func silent() throws -> SessionHarness {
    let policy = try LinkPolicy.session.setting([("liveness.ping", "off")])
    return SessionHarness.connected(policy: policy)
  }

  /// Returns how long a second prompt with an upload of 20 s may delay pings if the first has no
  /// ack.
  private static func deafness(after sign: (inout SessionHarness) -> Void) -> Duration? {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    let text = String(repeating: "x", count: 20 * 16_384)
    harness.prompt(text)
    harness.pass(.seconds(31))
    sign(&harness)
    harness.prompt(text, in: "d")
    return harness.model.connection?.uploads.last.map { harness.now.duration(to: $0.deafUntil) }
  }

  @Test func `a long prompt may delay pings if the server was heard since the previous one`() {
    let unheard = Self.deafness { _ in }
    #expect(unheard == .zero)
    let extended = [
      Self.deafness { harness in harness.say(.heartbeat(nil)) },
      Self.deafness { harness in harness.give(.malformed(harness.attempt, detail: "")) },
      Self.deafness { harness in harness.give(.reading(harness.attempt, isPaused: false)) },
    ]
    #expect(extended == [.seconds(20), .seconds(20), .seconds(20)])
  }

  @Test func `a malformed message is a sign of life`() throws {
    var harness = try Self.silent()
    harness.pass(.seconds(89))
    harness.give(.malformed(harness.attempt, detail: ""))
    harness.pass(.seconds(89))
    #expect(harness.model.isConnected)
    harness.pass(.seconds(1))
    #expect(!harness.model.isConnected)
  }

  @Test func `an early tick is no sign of life`() throws {
    var harness = try Self.silent()
    harness.prompt(String(repeating: "x", count: 30 * 16_384))
    harness.pass(.seconds(20))
    _ = harness.model.tick(at: harness.now)
    harness.pass(.seconds(70))
    #expect(!harness.model.isConnected)
  }

  @Test func `a short prompt at the end of the silence changes nothing`() throws {
    var harness = try Self.silent()
    harness.pass(.seconds(90) - .nanoseconds(1))
    harness.now = harness.now.advanced(by: .nanoseconds(1))
    harness.prompt("short")
    #expect(harness.model.isConnected)
    harness.pass(.zero)
    #expect(!harness.model.isConnected)
  }

  @Test func `an older socket that is not read does not affect the current one`() throws {
    var harness = try Self.silent()
    harness.give(.reading(AttemptID(99), isPaused: true))
    harness.pass(.seconds(90))
    #expect(!harness.model.isConnected)
  }

  @Test func `an accepted short prompt does not end the wait for a large one`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    harness.prompt("short")
    harness.pass(.seconds(10))
    harness.prompt(String(repeating: "x", count: 100 * 1_024), in: "d")
    #expect(harness.prompts.count == 2)
    let attempt = harness.attempt
    harness.ack(harness.key("short"))
    for _ in 0..<8 {
      harness.pass(.seconds(10))
      harness.give(.link(.ping(attempt), at: harness.wall))
    }
    #expect(harness.attempt == attempt && harness.model.isConnected)
  }

  @Test func `a control frame is no sign of life after the time limit of a large prompt`() throws {
    var harness = try Self.silent()
    harness.prompt(String(repeating: "x", count: 100 * 1_024))
    for _ in 1...4 {
      harness.pass(.seconds(60))
      harness.say(.heartbeat(nil))
    }
    harness.pass(.seconds(60))
    #expect(harness.model.isConnected)
    #expect(harness.model.connection?.large?.until == harness.now)
    harness.give(.link(.ping(harness.attempt), at: harness.wall))
    harness.pass(.seconds(60))
    #expect(!harness.model.isConnected)
  }

  @Test func `a prompt that timed out at a plain server is no longer awaited`() {
    var harness = SessionHarness.connected([])
    harness.prompt(String(repeating: "x", count: 100 * 1_024))
    #expect(harness.model.connection?.large != nil)
    harness.pass(.seconds(300))
    #expect(harness.reason == SessionModel.unsureReason)
    #expect(harness.model.connection != nil)
    #expect(harness.model.connection?.large == nil)
  }
}
