import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData

/// The command `holdfast consumer`: lists and removes the consumers of a data directory.
package enum ConsumerCommands {
  package static var command: Command {
    Command(
      "consumer", "show and remove the durable consumers of shops",
      commands: [listCommand, removeCommand])
  }

  private static let shop = Parameter.optional(
    "shop", Format.shop, usual: "every stored shop", "only this shop")
  private static let names = Parameter.operands(atLeast: 1, .consumer, "the consumers to remove")

  private static var listCommand: Command {
    Command(
      "list", "show the consumers and how far they have come",
      details: [
        """
        Reads only the data directory, which a running stream may be writing to. With --json each \
        consumer is one object: event consumer, shop, name, acknowledged and last (numbers of \
        deliveries).
        """
      ],
      examples: [.init("holdfast consumer list", "all consumers of all shops")],
      takes: shop, Shared.data, Shared.json, action: list)
  }

  private static var removeCommand: Command {
    Command(
      "remove", "remove consumers with what waits for them",
      details: [
        """
        The messages themselves stay. No `stream` may be running with this data directory. With \
        --json each consumer is one object: event removed, shop, name.
        """
      ],
      examples: [.init("holdfast consumer remove indexer --shop bakery", "one consumer")],
      takes: shop, Shared.data, Shared.json, names, action: remove)
  }

  private static func list(_ call: Invocation) async throws(CommandFailure) {
    let found = try await inStore(call, forReading: true) { store throws(StoreFailure) in
      var found: [(shop: ShopID, states: [ConsumerState])] = []
      for shop in try await shops(call, in: store) {
        // A run with only `--from` that was killed leaves its own consumer in the store until the
        // next run.
        let states = try await store.consumers(of: shop)
        found.append((shop, states.filter { $0.name.text != StreamDeliveries.ownName }))
      }
      return found
    }
    if found.allSatisfy(\.states.isEmpty) {
      return call.diagnostic("there is no consumer; `stream --consumer NAME` adds one")
    }
    for (shop, states) in found {
      for state in states { show(state, of: shop, call) }
    }
  }

  private static func show(_ state: ConsumerState, of shop: ShopID, _ call: Invocation) {
    call.put(
      "\(state.name) of \(shop): \(state.acknowledged) acknowledged, \(state.waiting) wait",
      event: "consumer"
    ) {
      $0.entry("shop", shop.text)
      $0.entry("name", state.name.text)
      $0.entry("acknowledged", state.acknowledged)
      $0.entry("last", state.last)
    }
  }

  private static func remove(_ call: Invocation) async throws(CommandFailure) {
    let removed = try await inStore(call, forReading: false) { store throws(StoreFailure) in
      var removed: [(shop: ShopID, name: ConsumerName)] = []
      for shop in try await shops(call, in: store) {
        for name in call[names] where try await store.removeConsumer(name, of: shop) {
          removed.append((shop, name))
        }
      }
      return removed
    }
    for (shop, name) in removed {
      call.put("\(name) of \(shop) was removed", event: "removed") {
        $0.entry("shop", shop.text)
        $0.entry("name", name.text)
      }
    }
    if let missing = call[names].first(where: { name in !removed.contains { $0.name == name } }) {
      throw CommandFailure(
        .failed, "there is no consumer \(missing)", remedy: "`consumer list` shows them")
    }
  }

  private static func shops(
    _ call: Invocation, in store: any TimelineStore
  ) async throws(StoreFailure) -> [ShopID] {
    if let shop = call[shop] { return [shop] }
    return try await store.shops()
  }

  private static func inStore<Value: Sendable>(
    _ call: Invocation, forReading: Bool,
    _ body: (any TimelineStore) async throws(StoreFailure) -> Value
  ) async throws(CommandFailure) -> Value {
    try await call.withData { (directory) throws(StoreFailure) in
      let store = try await HoldfastPlatform.store(in: directory, forReading: forReading)
      return try await store.closing { () throws(StoreFailure) in try await body(store) }
    }
  }
}
