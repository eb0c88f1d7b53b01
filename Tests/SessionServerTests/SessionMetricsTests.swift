import HoldfastCore
import HoldfastServerFixtures
import HoldfastServerParts
import HoldfastSessionData
import HoldfastSessionServer
import Testing

/// Tests every counter of the session server after a day with at least one event of each kind.
@Suite struct SessionMetricsTests {
  private static func lines(_ stage: Sessions) -> [String] {
    stage.server.metricsText.split(separator: "\n").filter { $0.hasPrefix("holdfast_session_") }
      .map { String($0.dropFirst("holdfast_session_".count)) }
  }

  private static let day = [
    "sockets 1", "clients 2", "prompts_open 0", "handlers 0", "answers 5",
    "history_bytes \(historyBytes)",
    "opened_total 6", "refused_total 1", "connected_total 4", "unauthorized_total 1",
    "outdated_total 1", "silent_total 1", "slow_readers_total 1", "messages_total 16",
    "unreadable_total 1",
    #"errors_total{code="invalid_message"} 1"#, #"errors_total{code="not_recovered"} 1"#,
    #"errors_total{code="store_failed"} 1"#, #"errors_total{code="unknown_type"} 1"#,
    "prompts_total 6", "repeated_total 1", "started_total 5",
    #"answered_total{outcome="cancelled"} 1"#, #"answered_total{outcome="failure"} 1"#,
    #"answered_total{outcome="interrupted"} 1"#, #"answered_total{outcome="success"} 2"#,
    "acknowledged_total 1", "replayed_total 2", "lost_total 1", "unrecovered_total 1",
    "store_failures_total 1",
  ]

  /// The size of five questions of 5 bytes and two answers of 2 bytes, each with an id of 36 bytes.
  private static let historyBytes = 5 * (5 + 36) + 2 * (2 + 36)

  @Test func `reports every counter after a day`() throws {
    var stage = Sessions {
      $0.socketsPerAddress = 1
      $0.answersPerClient = 2
    }
    try Self.ask(&stage)
    Self.openRefused(&stage)
    Self.end(&stage)
    #expect(Self.lines(stage) == Self.day)
  }

  /// Runs a connection with a prompt for each outcome.
  private static func ask(_ stage: inout Sessions) throws {
    stage.connect(1)
    stage.ask(1, key: "k1")
    let answer = try #require(stage.answer(1).responses(to: 1).first?.id)
    _ = stage.say(1, .prompt(Sessions.prompt(key: "k1")))
    _ = stage.say(1, .messageAck(answer))
    stage.ask(1, key: "k2")
    _ = stage.take(.ended(SessionPromptID(2), .failure(error: "broken"), wall: stage.wall))
    _ = stage.commitAll()
    stage.ask(1, key: "k3")
    _ = stage.say(1, .killSession(conversation: Sessions.conversation))
    _ = stage.take(.ended(SessionPromptID(3), .success(text: "late"), wall: stage.wall))
    _ = stage.commitAll()
    stage.ask(1, key: "k4")
    _ = stage.answer(4)
    _ = stage.gone(1)
  }

  /// Opens connections that are refused, and one whose client is informed of a loss.
  private static func openRefused(_ stage: inout Sessions) {
    _ = stage.open(2)
    _ = stage.say(2, .connect(SessionConnect(session: "ann")), proof: .none)
    _ = stage.gone(2)
    stage.connect(3, version: "0.1.0")
    _ = stage.gone(3)
    stage.connect(4)
    _ = stage.open(5)
    _ = stage.say(4, .unknown(type: "dance"))
    _ = stage.take(.unreadable(ConnectionID(4), detail: "no JSON", field: nil))
    _ = stage.take(.overflowed(ConnectionID(4)))
    _ = stage.gone(4)
  }

  /// Simulates a silent socket, a store failure and a drain.
  private static func end(_ stage: inout Sessions) {
    stage.connect(6, as: "bob")
    _ = stage.wait(.seconds(90))
    _ = stage.gone(6)
    _ = stage.commitAll()
    stage.connect(7, as: "bob")
    _ = stage.say(7, .prompt(Sessions.prompt(key: "k5")))
    _ = stage.commit(failure: .full(detail: ""))
    stage.ask(7, key: "k6")
    _ = stage.take(.drain(within: .seconds(1)))
    _ = stage.wait(.seconds(2))
    _ = stage.commitAll()
  }

  @Test(arguments: [(499, 0), (500, 0), (501, 1)])
  func `by default, 500 sockets of sessions of one address open`(count: Int, refused: Int) {
    var sessions = Sessions()
    for number in 1...count { _ = sessions.open(UInt64(number)) }
    #expect(sessions.server.ceiling("sessions_per_address") == (500, min(count, 500), refused))
    #expect(sessions.server.ceiling("sessions").used == min(count, 500))
  }
}
