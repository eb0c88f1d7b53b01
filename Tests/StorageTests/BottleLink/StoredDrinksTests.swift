import HoldfastBottleData
import HoldfastCore
import Testing

/// Tests for `StoredDrinks`, the data about a bottle that a phone stores.
@Suite struct StoredDrinksTests {
  private static let time = Timestamp(nanoseconds: 1_768_766_400_000_000_000)

  private static func record(_ id: UInt32, at time: UInt32 = 9) -> BottleRecord {
    BottleRecord(id: id, time: time, amount: 40, level: 500)
  }

  private static func change(
    _ records: [BottleRecord] = [], via: BottleDrink.Via = .sync, deleting deleted: UInt32? = nil
  ) -> DrinkChange {
    var change = DrinkChange(at: time)
    (change.records, change.via, change.deleted) = (records, via, deleted)
    return change
  }

  private static func drink(
    _ number: UInt64, _ record: BottleRecord, via: BottleDrink.Via = .sync, isDeleted: Bool = false
  ) -> BottleDrink {
    BottleDrink(number: number, record: record, via: via, storedAt: time, isDeleted: isDeleted)
  }

  @Test func `a change sets nothing by default`() {
    let change = DrinkChange(at: Self.time)
    #expect((change.bottle, change.records, change.via) == (nil, [], .sync))
    #expect(change.deleted == nil)
    #expect(
      Self.drink(1, Self.record(1))
        == BottleDrink(number: 1, record: Self.record(1), via: .sync, storedAt: Self.time))
  }

  @Test func `identifies a record by its id and its time together`() {
    var stored = StoredDrinks()
    let all = [Self.record(1), Self.record(1, at: 10), Self.record(2), Self.record(1)]
    #expect(
      stored.commit(Self.change(all))
        == [
          Self.drink(1, all[0]), Self.drink(2, all[1]), Self.drink(3, all[2]),
        ])
    #expect(stored.commit(Self.change(all, via: .live)) == [])
    #expect(
      stored.commit(Self.change([Self.record(3)], via: .live))
        == [Self.drink(4, Self.record(3), via: .live)])
    #expect(stored.drinks(before: nil, limit: 9).map(\.number) == [1, 2, 3, 4])
  }

  @Test func `a deletion marks only the newest drink with its id`() {
    var stored = StoredDrinks()
    _ = stored.commit(Self.change([Self.record(1), Self.record(2), Self.record(1, at: 10)]))
    #expect(stored.commit(Self.change(deleting: 1)) == [])
    #expect(stored.drinks(before: nil, limit: 9).map(\.isDeleted) == [false, false, true])
    _ = stored.commit(Self.change([Self.record(3)], deleting: 9))
    #expect(stored.drinks(before: nil, limit: 9).map(\.isDeleted) == [false, false, true, false])
  }

  @Test func `the bottle stays until another one is set`() {
    var stored = StoredDrinks()
    #expect(stored.snapshot == DrinkSnapshot())
    var change = Self.change()
    change.bottle = KnownBottle(PeripheralID(UUID128(high: 1, low: 2)), name: "Bottle")
    _ = stored.commit(change)
    _ = stored.commit(Self.change())
    #expect(stored.snapshot.bottle == change.bottle)
    change.bottle = KnownBottle(PeripheralID(UUID128(high: 3, low: 4)))
    _ = stored.commit(change)
    #expect(stored.snapshot.bottle == change.bottle)
  }

  @Test func `never shows confirmed drinks again, whatever is confirmed later`() {
    var stored = StoredDrinks()
    _ = stored.commit(Self.change((1...4).map { Self.record($0) }))
    func unshown() -> [UInt64] { stored.snapshot.unshown.map(\.number) }
    #expect(unshown() == [1, 2, 3, 4])
    stored.confirm(2)
    #expect(unshown() == [3, 4])
    stored.confirm(1)
    #expect(unshown() == [3, 4])
    stored.confirm(99)
    #expect(unshown() == [])
    _ = stored.commit(Self.change([Self.record(5)]))
    #expect(unshown() == [5], "a drink that did not exist cannot have been shown")
  }

  @Test func `a snapshot contains all unshown drinks`() {
    var stored = StoredDrinks()
    _ = stored.commit(Self.change((1...1_801).map { Self.record($0) }))
    stored.confirm(1)
    #expect(stored.snapshot.unshown.map(\.number) == (2...1_801).map(\.self))
  }

  @Test(
    arguments: [
      (nil, 2, [3, 4]), (nil, 9, [1, 2, 3, 4]), (nil, 0, []), (nil, -1, []), (3, 9, [1, 2]),
      (3, 1, [2]), (1, 9, []), (0, 9, []), (5, 1, [4]), (99, 1, [4]), (.max, 1, [4]),
    ] as [(UInt64?, Int, [UInt64])])
  func `drinks are listed before a number`(before: UInt64?, limit: Int, numbers: [UInt64]) {
    var stored = StoredDrinks()
    _ = stored.commit(Self.change((1...4).map { Self.record($0) }))
    #expect(stored.drinks(before: before, limit: limit).map(\.number) == numbers)
  }

  @Test func `a program may leave a note`() {
    var stored = StoredDrinks()
    #expect(stored.status == nil)
    stored.status = "it runs"
    #expect(stored.status == "it runs")
  }
}
