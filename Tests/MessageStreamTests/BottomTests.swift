import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of plain servers whose pages since a time reach below all stored messages.
struct BottomTests {
  /// The number of a message whose time stamp is too old: it precedes the time up to which the
  /// timeline is complete by more than the overlap.
  private static let late: UInt64 = 100_100

  private static func key(_ number: UInt64) -> TimelineKey {
    Harness.message(number, isPlain: true).key
  }

  private static let bottomGap = ShopGap(after: nil, before: key(304))

  /// Returns a harness that stored the newest page, which is not the last, and then requested the
  /// page since that page's time.
  private static func fetching(
    _ screen: [UInt64] = [310, 305, 304], hasNext: Bool = true,
    change: (inout StreamSettings) -> Void = { _ in }
  ) -> Harness {
    var harness = Harness { settings in
      settings.historyPage = 3
      change(&settings)
    }
    harness.connect(Harness.plainPage(screen, hasNext: hasNext), head: nil)
    return harness
  }

  /// Returns a harness whose page since that time reaches below the stored messages but omits a
  /// message with a late time stamp.
  private static func beyond(change: (inout StreamSettings) -> Void = { _ in }) -> Harness {
    var harness = fetching(change: change)
    harness.answer(Harness.plainPage([310, 305, 304, 303, 301], hasNext: false))
    return harness
  }

  @Test func `fetches a late-stamped message below all stored ones`() {
    var harness = Self.beyond()
    harness.answer(Harness.plainPage([310, 305, 304]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 3))
    harness.answer(Harness.plainPage([303, Self.late, 301]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 3))
    #expect(harness.commits.flatMap(\.messages).contains { $0.id == Harness.message(Self.late).id })
    #expect(harness.model.isWhole)
    #expect(harness.model.gaps == [])
  }

  @Test func `a gap remains until then, also after a kill`() {
    var harness = Self.beyond()
    #expect(harness.model.gaps == [Self.bottomGap])
    #expect(harness.commits.last { !$0.messages.isEmpty }?.gaps == [Self.bottomGap])
    harness.answer(Harness.plainPage([310, 305, 304]))
    #expect(harness.model.gaps == [Self.bottomGap])
  }

  @Test func `the last page ends the walk, whatever it contains`() {
    var harness = Self.beyond()
    harness.answer(Harness.plainPage([310, 305, 304]))
    harness.answer(Harness.plainPage([303, Self.late], hasNext: false))
    #expect(harness.model.isWhole)
    #expect(harness.model.gaps == [])
  }

  @Test func `an interrupted walk leaves this gap and no other`() {
    var harness = Self.beyond { settings in
      settings.memory = 4
      settings.catchUpPage = 4
    }
    harness.answer(Harness.plainPage([310, 305, 304]))
    harness.answer(Harness.plainPage([Self.late, 100_101, 100_102]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 3))
    #expect(harness.model.recovery.run == nil)
    #expect(harness.model.gaps == [Self.bottomGap])
  }

  @Test func `with full memory, unknown messages may be stored, so there is no gap`() {
    let harness = Self.beyond { $0.memory = 3 }
    #expect(harness.model.gaps == [])
  }

  @Test func `pages since a time may reach the stored messages one after the other`() {
    var harness = Self.fetching()
    harness.answer(Harness.plainPage([312, 311]))
    harness.answer(Harness.plainPage([310, 305, 304]))
    harness.answer(Harness.plainPage([303, 301], hasNext: false))
    harness.answer(Harness.plainPage([312, 311, 310, 305, 304, 303]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 100))
    harness.answer(Harness.plainPage([Self.late, 301]))
    #expect(harness.model.isWhole)
    #expect(harness.model.gaps == [])
  }

  @Test func `a walk that ends above the stored messages continues down to them`() {
    var harness = Self.fetching()
    harness.answer(Harness.plainPage([313, 312, 311], hasNext: false))
    harness.answer(Harness.plainPage([313, 312, 311]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 3))
    harness.answer(Harness.plainPage([310, 305, 304]))
    #expect(harness.model.isWhole)
    #expect(harness.model.gaps == [])
  }

  @Test(arguments: [
    ([312, 311, 310, 305, 304], true), ([310, 305, 304], true), ([310, 305, 304, 303, 301], false),
  ])
  func `new messages at the top, or below the beginning, open no gap`(
    brought: [UInt64], hasNext: Bool
  ) {
    var harness = Self.fetching(hasNext: hasNext)
    harness.answer(Harness.plainPage(brought, hasNext: false))
    #expect(!harness.updates.contains { if case .gap = $0 { true } else { false } })
    harness.answer(Harness.plainPage(Array(brought.prefix(3))))
    #expect(harness.fetches.count == 3)
  }

  @Test(arguments: [UInt64(424), 425])
  func `a message stamped long after the oldest stored one lies above it`(number: UInt64) {
    var harness = Self.fetching([430, 305, 304])
    harness.answer(Harness.plainPage([430, number], hasNext: false))
    #expect(harness.model.gaps == (number == 424 ? [Self.bottomGap] : []))
  }
}
