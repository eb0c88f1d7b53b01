import Holdfast
import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastUI

/// Tests of the gaps between messages, from the updates of a stream.
@Suite @MainActor struct GapTests {
  private let shop = ShopMessages.preview()

  private func message(_ number: Int) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 0, low: UInt64(number)), shop: shop.id, user: "u", username: nil,
      text: "\(number)", createdAt: Timestamp(nanoseconds: Int64(number) * 1_000_000_000))
  }

  private func gap(_ after: Int?, _ before: Int) -> ShopGap {
    ShopGap(after: after.map { message($0).key }, before: message(before).key)
  }

  private func load(_ numbers: ClosedRange<Int>, via: StreamUpdate.Via = .history) {
    shop.take(.messages(numbers.map(message), via: via))
  }

  @Test func `a gap is known until it is closed`() {
    load(1...3)
    load(20...22, via: .catchUp)
    shop.take(.gap(gap(3, 20)))
    #expect(shop.gaps == [gap(3, 20)])
    shop.take(.gap(gap(3, 20)))
    #expect(shop.gaps.count == 1)
    shop.take(.gapClosed(gap(3, 20)))
    #expect(shop.gaps == [])
    shop.take(.gapClosed(gap(3, 20)))
  }

  @Test func `a gap moves down while pages fill it, and is closed where it then ends`() {
    shop.take(.gap(gap(3, 20)))
    load(15...19)
    #expect(shop.gaps == [gap(3, 15)])
    // Pages above the gap and below it, and messages that were not loaded, do not move it.
    load(21...25)
    load(1...2)
    load(9...9, via: .live)
    #expect(shop.gaps == [gap(3, 15)])
    load(10...14)
    shop.take(.gapClosed(gap(3, 10)))
    #expect(shop.gaps == [])
  }

  @Test func `a known message on a page leaves the gap where it can be closed`() {
    shop.take(.gap(gap(3, 20)))
    load(15...19)
    // The page has also shown the stream a message that the screen had already.
    shop.take(.gapClosed(gap(3, 12)))
    #expect(shop.gaps == [])
  }

  @Test func `each page fills the gap to which it belongs`() {
    shop.take(.gap(gap(30, 40)))
    shop.take(.gap(gap(nil, 10)))
    shop.take(.gap(gap(12, 20)))
    #expect(shop.gaps == [gap(nil, 10), gap(12, 20), gap(30, 40)])
    load(38...39)
    load(18...19)
    load(8...9)
    #expect(shop.gaps == [gap(nil, 8), gap(12, 18), gap(30, 38)])
    shop.take(.gapClosed(gap(12, 18)))
    #expect(shop.gaps == [gap(nil, 8), gap(30, 38)])
  }
}
