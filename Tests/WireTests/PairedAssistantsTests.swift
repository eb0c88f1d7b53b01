import HoldfastRelayData
import Testing

/// Tests of the list of the assistants that are paired with a phone.
@Suite struct PairedAssistantsTests {
  @Test(arguments: [(1_000, true), (1_001, false)])
  func `up to 1,000 assistants are read`(count: Int, isRead: Bool) {
    let list = PairedAssistants(
      limit: count,
      assistants: (0..<count).map {
        PairedAssistants.Assistant(
          id: "a\($0)", name: nil, since: nil, lastQuestion: nil, expiresAt: Sample.time)
      })
    #expect(((try? PairedAssistants.read(list.bytes)) == list) == isRead)
  }

  @Test(arguments: [(1_023, true), (1_024, true), (1_025, false)])
  func `the name of a synced user has up to 1,024 bytes`(count: Int, isRead: Bool) {
    let list = PairedAssistants(
      limit: 8, assistants: [], syncedUser: String(repeating: "a", count: count))
    #expect(((try? PairedAssistants.read(list.bytes)) == list) == isRead)
  }
}
