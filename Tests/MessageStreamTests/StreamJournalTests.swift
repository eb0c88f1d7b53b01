import HoldfastCore
import Testing

@testable import HoldfastMessageStream

/// Tests of the start of a stream's journal.
struct StreamJournalTests {
  @Test(arguments: [false, true])
  func `a replayed stream only sends if the original did`(sendsOnly: Bool) {
    let settings = StreamHarness.settings
    let birth = StreamModel.Birth(
      shop: settings.shop, policy: settings.policy, sendsOnly: sendsOnly)
    var expected = StreamSettings(shop: settings.shop, policy: settings.policy)
    expected.sendsOnly = sendsOnly
    #expect(StreamModel(birth, seed: 1).settings == expected)
  }

  @Test(arguments: [false, true])
  func `a replayed stream asks for events if the original did`(wantsEvents: Bool) {
    let settings = StreamHarness.settings
    let birth = StreamModel.Birth(
      shop: settings.shop, policy: settings.policy, wantsEvents: wantsEvents)
    #expect(StreamModel(birth, seed: 1).settings.wantsEvents == wantsEvents)
  }

  @Test func `a stream also fetches, unless its birth record states otherwise`() {
    let settings = StreamHarness.settings
    let birth = StreamModel.Birth(shop: settings.shop, policy: settings.policy)
    #expect(!StreamModel(birth, seed: 1).settings.sendsOnly)
  }
}
