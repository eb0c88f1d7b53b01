import BottleLink
import LinkCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The reference models of a bottle and its phone, before what deviates from them.
@Suite struct BottleTwinTests {
  private static let time = Timestamp(nanoseconds: 1_768_766_400_000_000_000)

  private static func drink(_ id: UInt32) -> Drink {
    let record = BottleRecord(id: id, time: 1_768_766_000, amount: 40, level: 500)
    return Drink(number: UInt64(id), record: record, via: .sync, storedAt: time)
  }

  /// A shelf and a store with three drinks.
  private static func stored() -> (BottleShelf, KeptDrinks) {
    var (shelf, store) = (BottleShelf(), KeptDrinks())
    var change = DrinkChange(at: time)
    change.records = [1, 2, 3].map { drink($0).record }
    #expect(shelf.stray(change, added: store.commit(change)) == nil)
    return (shelf, store)
  }

  @Test func `a store that gives back or lists other drinks is found`() {
    let (shelf, store) = Self.stored()
    #expect(shelf.stray(store.snapshot) == nil)
    var snapshot = store.snapshot
    snapshot.unshown.removeLast()
    #expect(shelf.stray(snapshot) != nil)
    snapshot = store.snapshot
    snapshot.bottle = KnownBottle(BottleRadio.id)
    #expect(shelf.stray(snapshot) != nil)
    #expect(shelf.stray(pages: store.drinks) == nil)
    #expect(shelf.stray { _, _ in [] } != nil)
    #expect(shelf.stray { _, _ in [Self.drink(3)] } != nil)
  }

  @Test func `a store that stores again what it has is found`() {
    var (shelf, _) = Self.stored()
    var change = DrinkChange(at: Self.time)
    change.records = [Self.drink(3).record]
    #expect(shelf.stray(change, added: [Self.drink(4)]) != nil)
  }

  @Test(arguments: [BottleAttribute.state, .calibration, .battery, .drinks])
  func `a value that is read as another one is found`(attribute: BottleAttribute) {
    var twin = BottleTwin(plan: 34, capacity: 20, countsDeleted: false, level: 600, at: .zero)
    let bytes = twin.value(of: attribute) ?? []
    let news = BottleModel.News(bytes, of: attribute)
    #expect(BottleReading.stray(news, bytes, of: attribute) == nil)
    #expect(BottleReading.stray(nil, bytes, of: attribute) != nil)
    _ = twin.tick(at: .zero)
    #expect(BottleReading.stray(news, bytes + [0], of: attribute) != nil)
    #expect(BottleReading.stray(.malformed(detail: ""), bytes, of: attribute) != nil)
  }

  @Test func `lists are judged by their bytes`() {
    let right: [UInt8] = [0, 1, 1, 0, 9, 0, 0, 0, 5, 0, 2, 0x81]
    #expect(BottleLists.stray(right, of: [0x31, 0, 0, 0]) == nil)
    #expect(BottleLists.stray(right.dropLast() + [0x02], of: [0x31, 0, 0, 0]) != nil)
    #expect(BottleLists.strayName() == nil)
  }

  @Test func `a phone that says too much or too little is found`() {
    let standing = Standing<BottleFeature>(
      policy: .bottleLink, status: LinkStatus(phase: .disconnected), own: BottleFeature.State())
    var twin = BottlePhoneTwin()
    #expect(twin.stray(.shown(through: 3), [.confirm(3)], standing) == nil)
    #expect(twin.stray(.shown(through: 4), [], standing) != nil)
    #expect(twin.stray(.start, [.confirm(4)], standing) != nil)
    let write = BottleModel.Effect.write(AttemptID(1), WriteID(1), .command, [1, 0, 0, 0])
    #expect(twin.stray(nil, [write], standing) != nil)
    var status = BottleStatusTwin()
    #expect(status.stray(.start, [.stopScan], standing) != nil)
    #expect(status.stray(.start, [.scan], standing) != nil)
  }

  @Test func `a connection that ends as idle too early is found`() {
    var standing = Standing<BottleFeature>(
      policy: .bottleLink, status: LinkStatus(phase: .disconnected), own: BottleFeature.State())
    let attempt = AttemptID(1)
    var twin = BottlePhoneTwin()
    #expect(twin.stray(.central(.connected(attempt)), [.discover(attempt)], standing) == nil)
    standing.status.reason = .ended(.idle)
    standing.now = .zero.advanced(by: .seconds(59))
    var early = twin
    #expect(early.stray(nil, [.cancel(attempt)], standing) != nil)
    standing.now = .zero.advanced(by: .seconds(60))
    #expect(twin.stray(nil, [.cancel(attempt)], standing) == nil)
  }
}
