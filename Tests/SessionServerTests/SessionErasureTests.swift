import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSessionServer

/// Tests of the erasure of a user at the session server.
@Suite struct SessionErasureTests {
  private static let closed = Closure(4403, "the user was erased")

  /// Returns a harness with an answered prompt of each of ann, ben and a client with the key.
  private static func answered() -> Sessions {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.enter(2, of: "ben")
    sessions.connect(3, as: "phone")
    for connection in UInt64(1)...3 {
      sessions.ask(connection, "hello \(connection)")
      _ = sessions.answer(connection, "answer \(connection)")
    }
    _ = sessions.commitAll()
    return sessions
  }

  private static func users(_ stored: StoredSessions) -> [String?] {
    stored.prompts.values.map { SessionNames.split($0.client).user }
      .sorted { ($0 ?? "") < ($1 ?? "") }
  }

  @Test func `an erasure ends the sockets, clients, prompts and conversations of one user`() {
    var sessions = Self.answered()
    #expect(sessions.stored.contain("ann"))
    let effects = sessions.take(.erased(user: "ann"))
    #expect(effects.contains(.close(ConnectionID(1), Self.closed)))
    #expect(!effects.contains(.close(ConnectionID(2), Self.closed)))
    _ = sessions.commitAll()
    #expect(!sessions.stored.contain("ann"))
    #expect(sessions.stored.contain("ben"))
    #expect(Self.users(sessions.stored) == [nil, "ben"])
    #expect(sessions.stored.conversations.count == 2 && sessions.stored.clients.count == 2)
    // The erasure may be repeated, and the socket ends.
    #expect(sessions.take(.erased(user: "ann")) == [])
    _ = sessions.take(.gone(ConnectionID(1), wall: sessions.wall))
    // Nothing comes back with a restart.
    #expect(!sessions.restarted().0.stored.contain("ann"))
  }

  @Test func `a client with the key is no user`() {
    var sessions = Sessions.asked()
    #expect(sessions.take(.erased(user: "")) == [])
    #expect(sessions.take(.erased(user: "ann")) == [])
  }

  @Test(arguments: [false, true])
  func `a prompt that is being stored or answered is erased, too`(isAnswered: Bool) {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.ask(1, "hello")
    if isAnswered {
      _ = sessions.take(
        .ended(sessions.runs[0], .success(text: "answer"), wall: sessions.wall))
    }
    let effects = sessions.take(.erased(user: "ann"))
    #expect(effects.contains { if case .cancel = $0 { true } else { false } } == !isAnswered)
    // What was written before is written before the erasure.
    _ = sessions.commitAll()
    #expect(sessions.stored == StoredSessions())
    guard let id = sessions.runs.first else { return }
    #expect(sessions.take(.produced(id, "late")) == [])
    #expect(sessions.take(.ended(id, .success(text: "late"), wall: sessions.wall)) == [])
  }

  @Test func `a write that fails is repeated`() {
    var sessions = Self.answered()
    _ = sessions.take(.erased(user: "ann"))
    _ = sessions.commit(failure: .full(detail: "no room"))
    #expect(sessions.stored.contain("ann"))
    _ = sessions.wait(.seconds(60))
    _ = sessions.commitAll()
    #expect(!sessions.stored.contain("ann"))
  }

  @Test func `the next conversation gets the program of the erased user`() {
    var sessions = Sessions { $0.maxRunning = 1 }
    sessions.enter(1, of: "ann")
    sessions.enter(2, of: "ben")
    sessions.ask(1, "hello")
    sessions.ask(2, in: Sessions.other)
    #expect(sessions.runs.count == 1)
    _ = sessions.take(.erased(user: "ann"))
    _ = sessions.commitAll()
    #expect(sessions.runs.count == 2)
  }
}
