import Testing

@testable import LinkCore
@testable import MessageStream

/// The link of a stream is checked with the stream.
struct StreamLinkInvariantTests {
  @Test func `a link that is to be left in the foreground is found`() {
    var model = Hand.connected(at: 10).model
    model.link.gate.leavesAt = .zero
    let broken = model.brokenInvariants(.thorough)
    #expect(broken.contains("gate: it is left only in the background"))
  }
}
