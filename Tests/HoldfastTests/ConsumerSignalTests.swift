import Testing

@testable import Holdfast

/// Tests of the signals that wake the consumers of a stream.
struct ConsumerSignalTests {
  @Test func `a released consumer is no longer signaled`() {
    let signals = ChangeSignals()
    let retained = signals.add()
    do {
      let dropped = signals.add()
      withExtendedLifetime(dropped) { #expect(signals.count == 2) }
    }
    withExtendedLifetime(retained) { #expect(signals.count == 1) }
  }

  @Test func `a consumer added to a closed stream is closed immediately`() {
    let signals = ChangeSignals()
    let before = signals.add()
    signals.close()
    #expect(before.isClosed)
    #expect(signals.add().isClosed)
  }
}
