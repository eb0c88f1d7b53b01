import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData

/// The command `holdfast outbox`: lists, retries and discards messages that no server has
/// confirmed.
package enum OutboxCommands {
  package static var command: Command {
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
    Edits and deletions of messages count too. With --json each is one object: event, shop, key, \
    text, image (its type) and parentId if there are any, for an edit or a deletion action and the \
    id of the message, state queued (with tries) or failed (with reason).
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
    let entries = try await store.closing { () throws(CommandFailure) in
      try await Self.entries(in: store, call)
    }
    for entry in entries { show("outbox", entry, call) }
    if entries.isEmpty { reportNone("waits to be sent, and none has failed", call) }
  }

  /// Reports that no messages match, so that empty output is not mistaken for an error.
  private static func reportNone(_ what: String, _ call: Invocation) {
    let target = call[shop].map { " to shop \($0)" } ?? ""
    call.diagnostic("no message\(target) \(what)")
  }

  private static func retry(_ call: Invocation) async throws(CommandFailure) {
    let entries = try await change(call, mayWait: false) { entry in
      entry.state = .queued(tries: 0)
      return TimelineChange(outboxPut: [entry])
    }
    for entry in entries { show("outbox", entry, call) }
    if entries.isEmpty { reportNone("has failed", call) }
  }

  private static func discard(_ call: Invocation) async throws(CommandFailure) {
    let entries = try await change(call, mayWait: true) {
      TimelineChange(outboxRemove: [$0.id])
    }
    for entry in entries { show("discarded", entry, call) }
    if entries.isEmpty { reportNone("has failed", call) }
  }

  /// Changes the selected messages, all of which must exist. Returns the changed messages.
  private static func change(
    _ call: Invocation, mayWait: Bool, _ change: (inout OutboxEntry) -> TimelineChange
  ) async throws(CommandFailure) -> [OutboxEntry] {
    guard call[failed] == call[keys].isEmpty else {
      throw CommandFailure(
        .usage, "either keys or --failed must be given", remedy: "`outbox list` shows the keys")
    }
    let store = try await open(call, forReading: false)
    return try await store.closing { () throws(CommandFailure) in
      var chosen = try choose(from: try await entries(in: store, call), call, mayWait: mayWait)
      try await CommandFailure.catching { () throws(StoreFailure) in
        for index in chosen.indices {
          let shop = chosen[index].shop
          let stored = change(&chosen[index])
          _ = try await store.commit(stored, to: shop)
          if !stored.outboxRemove.isEmpty { ShopStream.removeImage(of: chosen[index], in: store) }
        }
      }
      return chosen
    }
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
    try await CommandFailure.catching { () throws(StoreFailure) in
      var entries: [OutboxEntry] = []
      for current in try await store.shops() where call[shop].map({ $0 == current }) ?? true {
        entries += try await store.load(current, limit: 0).outbox
      }
      return entries
    }
  }

  private static func open(
    _ call: Invocation, forReading: Bool
  ) async throws(CommandFailure) -> any TimelineStore {
    try await call.withData { (directory) throws(StoreFailure) in
      // This throws an error for a missing store instead of creating one.
      try HoldfastPlatform.expectStore(in: directory)
      return try await HoldfastPlatform.store(in: directory, forReading: forReading)
    }
  }

  private static func show(_ event: String, _ entry: OutboxEntry, _ call: Invocation) {
    let text = StreamText(style: call.console.style)
    let state = event == "outbox" ? text.waiting(entry) : text.discarded(entry)
    call.put("\(entry.id)  \(entry.shop.text)  \(state)", event: event) {
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
