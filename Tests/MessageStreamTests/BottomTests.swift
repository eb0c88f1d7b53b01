import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of pages since a time, on a plain server, that reach below all stored messages.
struct BottomTests {
  /// The number of a message stamped more than the overlap before the time up to which the timeline
  /// is whole.
  private static let late: UInt64 = 100_100

  private static func key(_ number: UInt64) -> TimelineKey {
    Hand.message(number, isPlain: true).key
  }

  private static let bottomGap = Gap(after: nil, before: key(304))

  /// Returns a harness that stored the newest page, which has a successor, and then requested the
  /// page since its time.
  private static func fetching(
    _ screen: [UInt64] = [310, 305, 304], hasNext: Bool = true,
    change: (inout StreamSettings) -> Void = { _ in }
  ) -> Hand {
    var hand = Hand { settings in
      settings.historyPage = 3
      change(&settings)
    }
    hand.connect(Hand.plainPage(screen, hasNext: hasNext), head: nil)
    return hand
  }

  /// Returns a harness whose page since that time goes below the stored messages but leaves out one
  /// that was stamped late.
  private static func beyond(change: (inout StreamSettings) -> Void = { _ in }) -> Hand {
    var hand = fetching(change: change)
    hand.answer(Hand.plainPage([310, 305, 304, 303, 301], hasNext: false))
    return hand
  }

  @Test func `fetches a late-stamped message below all stored ones`() {
    var hand = Self.beyond()
    hand.answer(Hand.plainPage([310, 305, 304]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 3))
    hand.answer(Hand.plainPage([303, Self.late, 301]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 3))
    #expect(hand.commits.flatMap(\.messages).contains { $0.id == Hand.message(Self.late).id })
    #expect(hand.model.isWhole)
    #expect(hand.model.gaps == [])
  }

  @Test func `a gap remains until then, also after a kill`() {
    var hand = Self.beyond()
    #expect(hand.model.gaps == [Self.bottomGap])
    #expect(hand.commits.last { !$0.messages.isEmpty }?.gaps == [Self.bottomGap])
    hand.answer(Hand.plainPage([310, 305, 304]))
    #expect(hand.model.gaps == [Self.bottomGap])
  }

  @Test func `the last page ends the walk, whatever it contains`() {
    var hand = Self.beyond()
    hand.answer(Hand.plainPage([310, 305, 304]))
    hand.answer(Hand.plainPage([303, Self.late], hasNext: false))
    #expect(hand.model.isWhole)
    #expect(hand.model.gaps == [])
  }

  @Test func `an interrupted walk leaves this gap and no other`() {
    var hand = Self.beyond { settings in
      settings.memory = 4
      settings.catchUpPage = 4
    }
    hand.answer(Hand.plainPage([310, 305, 304]))
    hand.answer(Hand.plainPage([Self.late, 100_101, 100_102]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 3))
    #expect(hand.model.recovery.run == nil)
    #expect(hand.model.gaps == [Self.bottomGap])
  }

  @Test func `with full memory, unknown messages may be stored, so there is no gap`() {
    let hand = Self.beyond { $0.memory = 3 }
    #expect(hand.model.gaps == [])
  }

  @Test func `pages since a time may reach the stored messages one after the other`() {
    var hand = Self.fetching()
    hand.answer(Hand.plainPage([312, 311]))
    hand.answer(Hand.plainPage([310, 305, 304]))
    hand.answer(Hand.plainPage([303, 301], hasNext: false))
    hand.answer(Hand.plainPage([312, 311, 310, 305, 304, 303]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 100))
    hand.answer(Hand.plainPage([Self.late, 301]))
    #expect(hand.model.isWhole)
    #expect(hand.model.gaps == [])
  }

  @Test func `a walk that ends above the stored messages continues down to them`() {
    var hand = Self.fetching()
    hand.answer(Hand.plainPage([313, 312, 311], hasNext: false))
    hand.answer(Hand.plainPage([313, 312, 311]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 3))
    hand.answer(Hand.plainPage([310, 305, 304]))
    #expect(hand.model.isWhole)
    #expect(hand.model.gaps == [])
  }

  @Test(arguments: [
    ([312, 311, 310, 305, 304], true), ([310, 305, 304], true), ([310, 305, 304, 303, 301], false),
  ])
  func `new messages at the top, or below the beginning, open no gap`(
    brought: [UInt64], hasNext: Bool
  ) {
    var hand = Self.fetching(hasNext: hasNext)
    hand.answer(Hand.plainPage(brought, hasNext: false))
    #expect(!hand.updates.contains { if case .gap = $0 { true } else { false } })
    hand.answer(Hand.plainPage(Array(brought.prefix(3))))
    #expect(hand.fetches.count == 3)
  }

  @Test(arguments: [UInt64(424), 425])
  func `a message stamped long after the oldest stored one lies above it`(number: UInt64) {
    var hand = Self.fetching([430, 305, 304])
    hand.answer(Hand.plainPage([430, number], hasNext: false))
    #expect(hand.model.gaps == (number == 424 ? [Self.bottomGap] : []))
  }
}
