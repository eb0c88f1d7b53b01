import LinkCore
import LinkWire

/// What a phone's store of drinks must hold, told a second time.
struct BottleShelf: Sendable {
  private var bottle: PeripheralID?
  private var drinks: [Drink] = []
  private var ids: [UInt32: [BottleRecord]] = [:]
  private var confirmed = 0

  /// Returns how the drinks that a change added differ from what it had to add.
  mutating func stray(_ change: DrinkChange, added: [Drink]) -> String? {
    bottle = change.bottle?.id ?? bottle
    var new: [Drink] = []
    for record in change.records {
      // The same id with another time or amount is another drink: a bottle's memory was erased.
      let isKnown = ids[record.id, default: []].contains { one in
        one.time == record.time && one.amount == record.amount && one.level == record.level
          && one.kind == record.kind
      }
      if isKnown { continue }
      ids[record.id, default: []].append(record)
      let number = drinks.count + new.count + 1
      new.append(
        Drink(number: UInt64(number), record: record, via: change.via, storedAt: change.at))
    }
    drinks += new
    // Only the bottle's present memory can be meant.
    for place in drinks.indices.reversed() where drinks[place].record.id == change.deleted {
      drinks[place].isDeleted = true
      break
    }
    return new == added ? nil : "the store adds \(added) instead of \(new)"
  }

  mutating func confirm(_ number: UInt64) {
    confirmed = max(confirmed, min(Int(number), drinks.count))
  }

  /// Returns how what the store gives back at a start differs from what it must give.
  func stray(_ snapshot: DrinkSnapshot) -> String? {
    if snapshot.bottle?.id != bottle { return "the store gives back another bottle" }
    let unshown = drinks.dropFirst(confirmed)
    return snapshot.unshown.elementsEqual(unshown)
      ? nil : "the store gives back \(snapshot.unshown.count) drinks, not \(unshown.count)"
  }

  /// Returns how what the store lists, page by page from the newest, differs from what it holds.
  func stray(pages: (_ before: UInt64?, _ limit: Int) -> [Drink]) -> String? {
    var listed = pages(nil, 7)
    while let first = listed.first, first.number > 1, listed.count <= drinks.count {
      let page = pages(first.number, 7)
      if page.isEmpty || page.count > 7 { break }
      listed = page + listed
    }
    return listed == drinks ? nil : "the store lists \(listed.count) drinks, not \(drinks.count)"
  }
}
