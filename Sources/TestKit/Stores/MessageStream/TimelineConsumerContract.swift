import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData

/// The checks of the promises that `TimelineStore` makes to consumers.
let consumerChecks: [@Sendable (any TimelineStore) async throws -> Void] = [
  deliversWhatIsStoredLater, startsWhereRequested, startsBehindAPosition, addsAConsumerOnce,
  deliversEdits, acknowledgesInOrder, separatesConsumers, forgetsRemovedConsumers,
  countsAConsumerAsStored,
]

extension ConsumerName {
  fileprivate static func sample(_ text: String) throws -> ConsumerName {
    guard let name = ConsumerName(text) else {
      throw ContractViolation("\(text) is a consumer's name: it was refused")
    }
    return name
  }
}

private func deliversWhatIsStoredLater(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  try await store.addConsumer(name, of: shop, from: .all)
  let late = [3, 1, 2].map { StoreSamples.message($0, in: shop, at: Int64($0)) }
  _ = try await store.commit(TimelineChange(messages: late), to: shop)
  let early = StoreSamples.message(4, in: shop, at: 0)
  _ = try await store.commit(TimelineChange(messages: [early, late[0]]), to: shop)
  let wanted = [late[1], late[2], late[0], early].enumerated().map {
    ShopDelivery(number: UInt64($0.offset) + 1, message: $0.element)
  }
  for limit in 0...5 {
    for number in 0...5 {
      let found = try await store.deliveries(
        to: name, of: shop, after: UInt64(number), limit: limit)
      try ContractViolation.unless(
        found, is: Array(wanted.dropFirst(number).prefix(limit)),
        "\(limit) deliveries after number \(number), commit by commit in timeline order")
    }
  }
  try ContractViolation.unless(
    try await store.consumers(of: shop), is: [ConsumerState(name: name, last: 4)],
    "a consumer's state counts its deliveries")
}

private func startsWhereRequested(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let all = (1...5).map { StoreSamples.message($0, in: shop, at: Int64($0)) }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  let starts: [(ConsumerStart, Int)] = [
    (.all, 5), (.newest(0), 0), (.newest(2), 2), (.newest(5), 5), (.newest(6), 5),
    (.since(Timestamp(nanoseconds: 3)), 3), (.since(Timestamp(nanoseconds: 1)), 5),
    (.since(Timestamp(nanoseconds: 6)), 0),
  ]
  for (index, (start, count)) in starts.enumerated() {
    let name = try ConsumerName.sample("c\(index)")
    try await store.addConsumer(name, of: shop, from: start)
    let found = try await store.deliveries(to: name, of: shop, after: 0, limit: 9)
    let wanted = all.suffix(count).enumerated().map {
      ShopDelivery(number: UInt64($0.offset) + 1, message: $0.element)
    }
    try ContractViolation.unless(found, is: wanted, "the first deliveries from \(start)")
  }
}

private func startsBehindAPosition(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  let offsets: [UInt64] = [1, 2, 3, UInt64(Int64.max) + 1]
  let all = offsets.enumerated().map { index, offset in
    var message = StoreSamples.message(UInt64(index), in: shop, at: Int64(index))
    message.position = ShopPosition(
      epoch: index == 0 ? "old" : "e", offset: offset)
    return message
  }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  let unknown = ShopPosition(epoch: "other", offset: 1)
  var failure: StoreFailure?
  do throws(StoreFailure) {
    try await store.addConsumer(name, of: shop, from: .after(unknown))
  } catch {
    failure = error
  }
  try ContractViolation.unless(
    failure, is: .noEpoch(of: unknown), "an epoch that no message has is refused")
  try ContractViolation.unless(
    try await store.consumers(of: shop), is: [], "a refused consumer is not added")
  try await store.addConsumer(name, of: shop, from: .after(ShopPosition(epoch: "e", offset: 2)))
  try ContractViolation.unless(
    try await store.deliveries(to: name, of: shop, after: 0, limit: 9).compactMap(\.message),
    is: Array(all[2...]), "the messages behind a position")
}

private func addsAConsumerOnce(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  try await store.addConsumer(name, of: shop, from: .newest(0))
  let message = StoreSamples.message(1, in: shop, at: 1)
  _ = try await store.commit(TimelineChange(messages: [message]), to: shop)
  try await store.acknowledge(name, of: shop, through: 1)
  try await store.addConsumer(name, of: shop, from: .all)
  try ContractViolation.unless(
    try await store.consumers(of: shop),
    is: [ConsumerState(name: name, acknowledged: 1, last: 1)],
    "a consumer that is there stays as it is")
}

private func deliversEdits(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  let first = StoreSamples.bare(1, in: shop, at: 10)
  _ = try await store.commit(TimelineChange(messages: [first]), to: shop)
  try await store.addConsumer(name, of: shop, from: .all)
  var edit = first
  (edit.text, edit.isEdited, edit.updatedAt) = ("edited", true, Timestamp(nanoseconds: 11))
  let second = StoreSamples.bare(2, in: shop, at: 5)
  _ = try await store.commit(TimelineChange(messages: [edit, second]), to: shop)
  try ContractViolation.unless(
    try await store.deliveries(to: name, of: shop, after: 0, limit: 9),
    is: [
      ShopDelivery(number: 1, message: edit), ShopDelivery(number: 2, message: second),
      ShopDelivery(number: 3, message: edit, isEdit: true),
    ], "new messages of a commit come first, and every delivery has the text that is stored")
}

private func acknowledgesInOrder(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  let all = (1...4).map { StoreSamples.message($0, in: shop, at: Int64($0)) }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  try await store.addConsumer(name, of: shop, from: .all)
  for (number, left) in [(0, 4), (2, 2), (1, 2), (2, 2), (4, 0)] {
    try await store.acknowledge(name, of: shop, through: UInt64(number))
    try ContractViolation.unless(
      try await store.deliveries(to: name, of: shop, after: 0, limit: 9).compactMap(\.message),
      is: Array(all.suffix(left)), "what waits after the acknowledgement of \(number)")
  }
  var failure: StoreFailure?
  do throws(StoreFailure) {
    try await store.acknowledge(name, of: shop, through: 5)
  } catch {
    failure = error
  }
  try ContractViolation.unless(
    failure, is: .noDelivery(5, last: 4), "a delivery that does not exist is refused")
  try ContractViolation.unless(
    try await store.consumers(of: shop),
    is: [ConsumerState(name: name, acknowledged: 4, last: 4)], "a refusal changes nothing")
}

private func separatesConsumers(_ store: any TimelineStore) async throws {
  let shops = [try StoreSamples.shop("s"), try StoreSamples.shop("t")]
  let names = [try ConsumerName.sample("a"), try ConsumerName.sample("b")]
  for shop in shops {
    for name in names.reversed() { try await store.addConsumer(name, of: shop, from: .all) }
  }
  for (index, shop) in shops.enumerated() {
    let message = StoreSamples.message(UInt64(index), in: shop, at: 1)
    _ = try await store.commit(TimelineChange(messages: [message]), to: shop)
  }
  try await store.acknowledge(names[0], of: shops[0], through: 1)
  try ContractViolation.unless(
    try await store.consumers(of: shops[0]),
    is: [
      ConsumerState(name: names[0], acknowledged: 1, last: 1),
      ConsumerState(name: names[1], last: 1),
    ], "consumers are listed by name, each with its own state")
  try ContractViolation.unless(
    try await store.consumers(of: shops[1]),
    is: names.map { ConsumerState(name: $0, last: 1) }, "another shop has consumers of its own")
}

private func forgetsRemovedConsumers(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  let message = StoreSamples.message(1, in: shop, at: 1)
  _ = try await store.commit(TimelineChange(messages: [message]), to: shop)
  try await store.addConsumer(name, of: shop, from: .all)
  try ContractViolation.unless(
    try await store.removeConsumer(name, of: shop), is: true, "a consumer is removed")
  try ContractViolation.unless(
    try await store.removeConsumer(name, of: shop), is: false, "it is removed once")
  try await store.acknowledge(name, of: shop, through: 9)
  try ContractViolation.unless(
    try await store.deliveries(to: name, of: shop, after: 0, limit: 9), is: [],
    "there are no deliveries to a consumer that is not there")
  try await store.addConsumer(name, of: shop, from: .newest(0))
  try ContractViolation.unless(
    try await store.consumers(of: shop), is: [ConsumerState(name: name)],
    "a consumer that is added again begins anew")
}

private func countsAConsumerAsStored(_ store: any TimelineStore) async throws {
  let (shop, name) = (try StoreSamples.shop("s"), try ConsumerName.sample("indexer"))
  try await store.addConsumer(name, of: shop, from: .all)
  try ContractViolation.unless(
    try await store.shops(), is: [shop], "a shop with a consumer is listed")
  _ = try await store.removeConsumer(name, of: shop)
  try ContractViolation.unless(
    try await store.shops(), is: [], "a shop without stored data is not listed")
}
