import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import Session

/// Tests of long responses in pieces, of conversations of other clients, and of the contents of
/// `connect`.
@Suite struct PiecesTests {
  /// Returns the texts shown for a truncated response that follows these pieces of it.
  private static func shown(_ pieces: [(Int, String)], of count: Int?) -> [String] {
    var bench = SessionBench.prompted([.idempotency, .parts])
    let key = bench.key("a").description
    for (index, text) in pieces {
      let conversation = SessionBench.conversation
      bench.say(
        .responsePart(conversation: conversation, idempotencyKey: key, index: index, text: text))
    }
    bench.say(
      .response(
        SessionResponse(
          id: "m", conversation: SessionBench.conversation, idempotencyKey: key,
          result: .success(text: "cut"), parts: count)))
    return bench.updates.compactMap { update in
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
  func `stores pieces up to a limit in bytes`(more: Int, isKept: Bool) {
    var pieces = ResponsePieces()
    let text = String(repeating: "x", count: ResponsePieces.limit + more)
    pieces.add(text, at: 0, of: "k")
    #expect(pieces.bytes == (isKept ? text.utf8.count : 0))
    #expect(pieces.take(1, of: "k") == (isKept ? text : nil))
    #expect(pieces == ResponsePieces())
  }

  @Test func `measures a piece in bytes, not in characters`() {
    let beginning = String(repeating: "x", count: ResponsePieces.limit - 2)
    for (end, isKept) in [("é", true), ("€", false)] {
      var pieces = ResponsePieces()
      pieces.add(beginning, at: 0, of: "k")
      pieces.add(end, at: 1, of: "k")
      #expect(pieces.take(2, of: "k") == (isKept ? beginning + end : nil))
    }
  }

  @Test func `follows a conversation named by the user before its first prompt`() {
    var bench = SessionBench.opening()
    let other = "00000000-0000-4000-8000-0000000000aa"
    bench.give(.follow(conversation: other))
    bench.connect([.idempotency])
    #expect(bench.subscriptions.map(\.conversation).contains(other))
    bench.say(.error(SessionError(message: "no such conversation", conversation: other)))
    #expect(bench.notices == [])
  }

  @Test func `connect contains the number up to which messages are stored, not only received`() {
    var bench = SessionBench.prompted([.idempotency, .resume])
    bench.holdsStore = true
    bench.say(
      .response(
        SessionResponse(
          id: "m", number: 1, conversation: SessionBench.conversation,
          idempotencyKey: bench.key("a").description, result: .success(text: "b"))))
    bench.lose()
    bench.connect([.idempotency, .resume])
    #expect(bench.connects.map(\.connect.received) == [0])
  }

  @Test func `disconnects from a server with a version before 0.4`() {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "")))
    bench.say(
      .connected(SessionConnected(message: "", session: "", version: SessionVersion(0, 3, 9))))
    #expect(!bench.model.isConnected)
    #expect(bench.model.link.status.phase == .failed)
  }
}
