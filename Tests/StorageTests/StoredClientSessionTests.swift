import HoldfastCore
import HoldfastSessionData
import Testing

/// Tests of the data that a session's client stores, with changes applied one at a time.
@Suite struct StoredClientSessionTests {
  private static let id = UUID128(high: 1, low: 2)
  private static let prompt = StoredPrompt(
    id: id, conversation: "c", text: "hi", number: 3, createdAt: Sample.time)
  private static let own = SessionEntry(
    id: id.description, role: .user, text: "hi", conversation: "c", timestamp: Sample.time)

  /// Returns a store to which these changes were applied in order.
  private static func stored(_ changes: ((inout ClientSessionChange) -> Void)...)
    -> StoredClientSession
  {
    var stored = StoredClientSession()
    for fill in changes {
      var change = ClientSessionChange()
      fill(&change)
      _ = stored.commit(change)
    }
    return stored
  }

  private static func snapshot(_ stored: StoredClientSession) -> ClientSessionSnapshot {
    var stored = stored
    return stored.open(as: id)
  }

  @Test func `stores up to 10,000 conversations`() {
    #expect(ClientSessionSnapshot.conversationLimit == 10_000)
  }

  @Test func `news stays unshown until it is confirmed`() {
    let entry = SessionEntry(id: "m", role: .assistant, text: "hi", conversation: "c")
    let stored = Self.stored({ $0.news = [.message(entry, via: .live)] })
    #expect(
      Self.snapshot(stored).unshown
        == [NumberedSessionNews(number: 1, news: .message(entry, via: .live))])
  }

  @Test func `stores a prompt although the server already sent its text`() {
    let stored = Self.stored(
      { $0.news = [.message(Self.own, via: .history)] }, { $0.prompts = [Self.prompt] })
    #expect(Self.snapshot(stored).prompts == [Self.prompt])
    #expect(Self.snapshot(stored).lastPrompt == 3)
    #expect(
      stored.history(of: "c", before: nil, limit: 9).map(\.news)
        == [.message(Self.own, via: .history)])
  }

  @Test func `a refused prompt gets an entry again when it is added again`() {
    let refused: (inout ClientSessionChange) -> Void = {
      ($0.rolledBack, $0.forgotten) = ([Self.id], [Self.id])
    }
    let put: (inout ClientSessionChange) -> Void = { $0.prompts = [Self.prompt] }
    #expect(Self.stored(put, refused).history(of: "c", before: nil, limit: 9) == [])
    let again = Self.stored(put, refused, put)
    #expect(
      again.history(of: "c", before: nil, limit: 9).map(\.news)
        == [.message(Self.own, via: .live)])
    #expect(Self.snapshot(again).prompts == [Self.prompt])
  }
}
