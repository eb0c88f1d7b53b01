import Testing

@testable import Holdfast

/// The signals that wake the consumers of a stream.
struct ConsumerBellsTests {
  @Test func `a released consumer is no longer signaled`() {
    let bells = Bells()
    let kept = bells.add()
    do {
      let dropped = bells.add()
      withExtendedLifetime(dropped) { #expect(bells.count == 2) }
    }
    withExtendedLifetime(kept) { #expect(bells.count == 1) }
  }

  @Test func `a consumer added to a closed stream is closed immediately`() {
    let bells = Bells()
    let before = bells.add()
    bells.close()
    #expect(before.isClosed)
    #expect(bells.add().isClosed)
  }
}
