import CommandKit
import Holdfast
import LinkCore
import LinkJSON
import LinkRuntime
import LinkStorage
import LinkWire

/// `holdfast outbox`: the messages of a data directory that no server has confirmed.
enum OutboxCommands {
  static var command: Command {
    Command(
      "outbox", "show, retry and discard messages that were not sent",
      commands: [listCommand, retryCommand, discardCommand])
  }

  private static let shop = Parameter.optional(
    "shop", Format.shop, usual: "every stored shop", "only this shop")
  private static let failed = Parameter.flag("failed", "all messages that failed permanently")
  private static let keys = Parameter.operands(
    atLeast: 0, .uuid("KEY", of: "a message's key"),
    "the messages, by the keys that `outbox list` shows")

  private static let json = """
    With --json each message is one object: event, shop, key, text, state queued (with tries) or \
    failed (with reason).
    """

  private static var listCommand: Command {
    Command(
      "list", "show the messages that wait to be sent or failed",
      details: ["Reads only the data directory, which a running stream may be writing to. " + json],
      examples: [.init("holdfast outbox list --shop bakery", "oldest first, with their keys")],
      takes: shop, Shared.data, Shared.json, action: list)
  }

  private static var retryCommand: Command {
    Command(
      "retry", "send failed messages again",
      details: [
        """
        The next `stream` with this data directory sends them, in their old order; no stream may \
        be running with it now. Messages that the server has already accepted are not posted \
        twice. \(json)
        """
      ],
      examples: [.init("holdfast outbox retry --failed", "all failed messages")],
      takes: shop, failed, Shared.data, Shared.json, keys, action: retry)
  }

  private static var discardCommand: Command {
    Command(
      "discard", "delete messages that were not sent",
      details: [
        """
        Their texts are deleted. A waiting message may have reached the server nevertheless. No \
        `stream` may be running with this data directory. \(json) The event is discarded.
        """
      ],
      examples: [
        .init("holdfast outbox discard --failed --shop bakery", "all failed messages of a shop")
      ],
      takes: shop, failed, Shared.data, Shared.json, keys, action: discard)
  }

  private static func list(_ call: Invocation) async throws(CommandFailure) {
    let store = try await open(call, forReading: true)
    let entries = try await entries(in: store, call)
    await store.close()
    for entry in entries { show("outbox", entry, call) }
    if entries.isEmpty { tellNone("waits to be sent, and none has failed", call) }
  }

  /// Says that there is no such message, so that nothing is not taken for an error.
  private static func tellNone(_ what: String, _ call: Invocation) {
    let place = call[shop].map { " to shop \($0)" } ?? ""
    call.diagnostic("no message\(place) \(what)")
  }

  private static func retry(_ call: Invocation) async throws(CommandFailure) {
    let entries = try await change(call, mayWait: false) { entry in
      entry.state = .queued(tries: 0)
      return TimelineChange(outboxPut: [entry])
    }
    for entry in entries { show("outbox", entry, call) }
    if entries.isEmpty { tellNone("has failed", call) }
  }

  private static func discard(_ call: Invocation) async throws(CommandFailure) {
    let entries = try await change(call, mayWait: true) {
      TimelineChange(outboxRemove: [$0.id])
    }
    for entry in entries { show("discarded", entry, call) }
    if entries.isEmpty { tellNone("has failed", call) }
  }

  /// Changes the given messages, all of which must exist; returns their new values.
  private static func change(
    _ call: Invocation, mayWait: Bool, _ change: (inout OutboxEntry) -> TimelineChange
  ) async throws(CommandFailure) -> [OutboxEntry] {
    guard call[failed] == call[keys].isEmpty else {
      throw CommandFailure(
        .usage, "either keys or --failed must be given", remedy: "`outbox list` shows the keys")
    }
    let store = try await open(call, forReading: false)
    var chosen: [OutboxEntry] = []
    do {
      chosen = try choose(from: try await entries(in: store, call), call, mayWait: mayWait)
      for index in chosen.indices {
        try await commit(change(&chosen[index]), to: chosen[index].shop, in: store)
      }
    } catch {
      await store.close()
      throw error
    }
    await store.close()
    return chosen
  }

  private static func choose(
    from entries: [OutboxEntry], _ call: Invocation, mayWait: Bool
  ) throws(CommandFailure) -> [OutboxEntry] {
    if call[failed] { return entries.filter(\.hasFailed) }
    var chosen: [OutboxEntry] = []
    for key in call[keys] where !chosen.contains(where: { $0.id == key }) {
      guard let entry = entries.first(where: { $0.id == key }) else {
        throw CommandFailure(
          .failed, "message \(key) is not in the outbox",
          remedy: "use a key that `outbox list` shows")
      }
      guard mayWait || entry.hasFailed else {
        throw CommandFailure(
          .failed, "message \(key) has not failed", remedy: "`stream` will send it")
      }
      chosen.append(entry)
    }
    return chosen
  }

  private static func entries(
    in store: any TimelineStore, _ call: Invocation
  ) async throws(CommandFailure) -> [OutboxEntry] {
    do throws(StoreFailure) {
      var entries: [OutboxEntry] = []
      for kept in try await store.shops() where call[shop].map({ $0 == kept }) ?? true {
        entries += try await store.load(kept, limit: 0).outbox
      }
      return entries
    } catch {
      throw CommandFailure(error)
    }
  }

  private static func commit(
    _ change: TimelineChange, to shop: ShopID, in store: any TimelineStore
  ) async throws(CommandFailure) {
    do throws(StoreFailure) {
      _ = try await store.commit(change, to: shop)
    } catch {
      throw CommandFailure(error)
    }
  }

  private static func open(
    _ call: Invocation, forReading: Bool
  ) async throws(CommandFailure) -> any TimelineStore {
    let directory = try call.dataDirectory()
    do throws(StoreFailure) {
      // A missing store is not created.
      try Platform.expectStore(in: directory)
      return try await Platform.store(in: directory, forReading: forReading)
    } catch {
      throw CommandFailure(error)
    }
  }

  private static func show(_ event: String, _ entry: OutboxEntry, _ call: Invocation) {
    let console = call.console
    guard call[Shared.json] else {
      let line = StreamText.waiting(entry, console.style)
      let state = event == "outbox" ? line : "-- discarded: \(entry.text.printable)"
      return console.line("\(entry.id)  \(entry.shop.text)  \(state)")
    }
    console.object {
      $0.entry("event", event)
      $0.entry("shop", entry.shop.text)
      entry.write(to: &$0)
    }
  }
}

extension OutboxEntry {
  fileprivate var hasFailed: Bool {
    switch state {
    case .queued: false
    case .failed: true
    }
  }
}
