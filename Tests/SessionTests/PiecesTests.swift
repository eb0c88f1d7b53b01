import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastSession

/// Tests of long responses in pieces, of conversations of other clients, and of the contents of
/// `connect`.
@Suite struct PiecesTests {
  /// Returns the texts that are shown for a truncated response after the given pieces of it.
  private static func shown(_ pieces: [(Int, String)], of count: Int?) -> [String] {
    var harness = SessionHarness.prompted([.idempotency, .parts])
    let key = harness.key("a").description
    for (index, text) in pieces {
      let conversation = SessionHarness.conversation
      harness.say(
        .responsePart(conversation: conversation, idempotencyKey: key, index: index, text: text))
    }
    harness.say(
      .response(
        SessionResponse(
          id: "m", conversation: SessionHarness.conversation, idempotencyKey: key,
          result: .success(text: "cut"), parts: count)))
    return harness.updates.compactMap { update in
      if case .message(let entry, _, _) = update { entry.text } else { nil }
    }
  }

  @Test func `shows a response whole if all of its pieces arrived`() {
    #expect(Self.shown([(0, "one "), (1, "two")], of: 2) == ["one two"])
  }

  @Test func `shows a response truncated if a piece is missing`() {
    #expect(Self.shown([(0, "one ")], of: 2) == ["cut"])
    #expect(Self.shown([(1, "two")], of: 2) == ["cut"])
    #expect(Self.shown([(0, "one "), (0, "one ")], of: 2) == ["cut"])
    #expect(Self.shown([(0, "one "), (1, "two")], of: nil) == ["cut"])
    #expect(Self.shown([], of: 2) == ["cut"])
  }

  @Test(arguments: [(-1, true), (0, true), (1, false)])
  func `stores pieces up to a limit in bytes`(more: Int, isStored: Bool) {
    var pieces = ResponsePieces()
    let text = String(repeating: "x", count: ResponsePieces.limit + more)
    pieces.add(text, at: 0, of: "k")
    #expect(pieces.bytes == (isStored ? text.utf8.count : 0))
    #expect(pieces.take(1, of: "k") == (isStored ? text : nil))
    #expect(pieces == ResponsePieces())
  }

  @Test func `measures a piece in bytes, not in characters`() {
    let beginning = String(repeating: "x", count: ResponsePieces.limit - 2)
    for (end, isStored) in [("é", true), ("€", false)] {
      var pieces = ResponsePieces()
      pieces.add(beginning, at: 0, of: "k")
      pieces.add(end, at: 1, of: "k")
      #expect(pieces.take(2, of: "k") == (isStored ? beginning + end : nil))
    }
  }

  @Test func `follows a conversation named by the user before its first prompt`() {
    var harness = SessionHarness.opening()
    let other = "00000000-0000-4000-8000-0000000000aa"
    harness.give(.follow(conversation: other))
    harness.connect([.idempotency])
    #expect(harness.subscriptions.map(\.conversation).contains(other))
    harness.say(.error(SessionError(message: "no such conversation", conversation: other)))
    #expect(harness.notices == [])
  }

  @Test func `connect contains the number up to which messages are stored, not only received`() {
    var harness = SessionHarness.prompted([.idempotency, .resume])
    harness.holdsStore = true
    harness.say(
      .response(
        SessionResponse(
          id: "m", number: 1, conversation: SessionHarness.conversation,
          idempotencyKey: harness.key("a").description, result: .success(text: "b"))))
    harness.lose()
    harness.connect([.idempotency, .resume])
    #expect(harness.connects.map(\.connect.received) == [0])
  }

  @Test func `disconnects from a server with a version before 0.4`() {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "")))
    harness.say(
      .connected(SessionConnected(message: "", session: "", version: SessionVersion(0, 3, 9))))
    #expect(!harness.model.isConnected)
    #expect(harness.model.link.status.phase == .failed)
  }
}
