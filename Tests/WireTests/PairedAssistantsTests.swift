import HoldfastWire
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
}
