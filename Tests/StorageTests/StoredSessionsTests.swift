import HoldfastSessionData
import Testing

/// Tests of the data that a session server stores, with changes applied one at a time.
@Suite struct StoredSessionsTests {
  private static func entry(_ position: UInt64?) -> SessionEntry {
    SessionEntry(id: "m", role: .user, text: "hi", conversation: "c", position: position)
  }

  private static func stored(_ changes: SessionChange...) -> StoredSessions {
    var stored = StoredSessions()
    for change in changes { stored.apply(change) }
    return stored
  }

  @Test(arguments: [("1:m", [entry(1)]), ("1:n", [])] as [(String, [SessionEntry])])
  func `another signature restarts a conversation, and the same one does not`(
    signature: String, entries: [SessionEntry]
  ) {
    let stored = Self.stored(
      .conversation("c", signature: "1:m"), .entry(Self.entry(1)),
      .conversation("c", signature: signature))
    #expect(
      stored.conversations == ["c": StoredConversation(signature: signature, entries: entries)])
  }

  @Test(arguments: [(nil, []), (1, []), (2, [entry(2)])] as [(UInt64?, [SessionEntry])])
  func `removes entries below a place, and first those without one`(
    position: UInt64?, left: [SessionEntry]
  ) {
    for below in [1, 2] as [UInt64] where position == nil || below == 2 {
      let stored = Self.stored(
        .conversation("c", signature: "s"), .entry(Self.entry(position)),
        .prune("c", below: below))
      #expect(stored.conversations["c"]?.entries == left)
    }
  }

  @Test func `entries stay in order, and a number is stored once, as in a database`() {
    var stored = Self.stored(
      .conversation("c", signature: "s"), .entry(Self.entry(1)), .entry(Self.entry(4)),
      .entry(Self.entry(3)), .entry(Self.entry(2)), .entry(Self.entry(3)))
    #expect(stored.conversations["c"]?.entries.map(\.position) == [1, 2, 3, 4])
    for (below, left) in [(0, [1, 2, 3, 4]), (3, [3, 4]), (4, [4]), (5, [])] as [(UInt64, [UInt64])]
    {
      stored.apply(.prune("c", below: below))
      #expect(stored.conversations["c"]?.entries.map(\.position) == left)
    }
  }
}
