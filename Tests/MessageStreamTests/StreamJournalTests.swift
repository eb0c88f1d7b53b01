import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the start of a stream's journal.
struct StreamJournalTests {
  @Test(arguments: [false, true])
  func `a stream that is replayed only sends if the first one did`(sendsOnly: Bool) {
    let settings = StreamHarness.settings
    let birth = StreamModel.Birth(
      shop: settings.shop, policy: settings.policy, sendsOnly: sendsOnly)
    var expected = StreamSettings(shop: settings.shop, policy: settings.policy)
    expected.sendsOnly = sendsOnly
    #expect(StreamModel(birth, seed: 1).settings == expected)
  }

  @Test func `a stream fetches, too, unless its birth says otherwise`() {
    let settings = StreamHarness.settings
    let birth = StreamModel.Birth(shop: settings.shop, policy: settings.policy)
    #expect(!StreamModel(birth, seed: 1).settings.sendsOnly)
  }
}
