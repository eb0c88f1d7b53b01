import HoldfastCore
import HoldfastSessionData
import HoldfastSessionServer
import Testing

/// Tests for the errors that a client receives when the session server refuses a prompt.
@Suite struct SessionRefusalTests {
  private static func refusals(_ effects: [Sessions.Effect]) -> [String] {
    effects.messages(to: 1).compactMap { message in
      guard case .error(let error) = message else { return nil }
      let parts = [error.code, error.conversation, error.idempotencyKey]
      return parts.map { $0 ?? "nil" }.joined(separator: " ")
    }
  }

  @Test func `a refusal names the conversation and the key of its prompt`() {
    var sessions = Sessions.connected {
      ($0.promptBurst, $0.promptInterval, $0.maxPromptBytes) = (3, .seconds(1), 5)
    }
    #expect(Self.refusals(sessions.ask(1, "one", in: "c", key: "a")) == [])
    #expect(
      Self.refusals(sessions.ask(1, "two", in: "c", key: "a")) == ["idempotency_conflict c a"])
    #expect(Self.refusals(sessions.ask(1, "123456", in: "d", key: "b")) == ["too_long d b"])
    _ = sessions.say(1, .prompt(Sessions.prompt("three", in: "e", key: "c")))
    #expect(Self.refusals(sessions.commit(failure: .full(detail: ""))) == ["store_failed e c"])
    #expect(Self.refusals(sessions.ask(1, "four", in: "f", key: "d")) == ["rate_limited f d"])
  }

  @Test func `a refusal of a prompt without a key names its conversation`() {
    var sessions = Sessions.connected { $0.maxPromptBytes = 5 }
    #expect(Self.refusals(sessions.ask(1, "123456", in: "d", key: nil)) == ["too_long d nil"])
  }

  @Test func `the same key with another directory, provider or system prompt is a conflict`() {
    var sessions = Sessions.connected()
    sessions.ask(1, "one", in: "c", key: "a")
    let same = Sessions.prompt("one", in: "c", key: "a")
    var others = [same, same, same]
    others[0].workingDirectory = "/tmp"
    others[1].provider = "other"
    others[2].systemPrompt = "be brief"
    for other in others {
      #expect(Self.refusals(sessions.say(1, .prompt(other))) == ["idempotency_conflict c a"])
    }
    #expect(Self.refusals(sessions.say(1, .prompt(same))) == [])
  }
}
