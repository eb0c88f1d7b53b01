import HoldfastCommandKit
import Holdfast
import HoldfastCore
import HoldfastJSON
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastWire
import HoldfastMessageStream

/// The delivery of a single message, edit or deletion through the outbox, for the commands that do
/// nothing else.
struct Delivery: Sendable {
  /// A kind of entry and the words for it.
  enum Kind: String, Sendable {
    case message
    case edit
    case deletion

    /// The name of the event for a confirmed entry, which is also the first word of its line.
    var event: String {
      switch self {
      case .message: "sent"
      case .edit: "edited"
      case .deletion: "deleted"
      }
    }
  }

  /// An entry that the server has confirmed.
  private struct Sent: Sendable {
    var key: UUID128
    var id: MessageID
    /// The creation time of a new message.
    var createdAt: Timestamp?
  }

  static let data = Parameter.optional(
    "data", .text("DIR"), usual: "in memory only",
    "store what is sent in this directory until the server has confirmed it")
  static let timeout = Parameter.option(
    "timeout", .duration(.milliseconds(1) ... .seconds(86_400)), default: .seconds(30),
    "how long to wait for the confirmation")

  private let kind: Kind
  /// The key of the entry in the outbox.
  private let key: UUID128
  private let shop: ShopID
  private var outcome: Result<Sent, CommandFailure>?
  /// Whether a signal ended the wait for the outcome.
  private var isStopped = false
  private var lastFailure: LinkFailure?
  private var ending: StreamEnding
  private var confirmed: MessageID?
  private var seen: [MessageID: Timestamp] = [:]

  private init(_ kind: Kind, key: UUID128, shop: ShopID) {
    self.kind = kind
    self.key = key
    self.shop = shop
    ending = StreamEnding(shop: shop)
  }

  /// A closure that passes an entry to a stream and returns its key.
  typealias Enqueue = (ShopStream) async throws(CommandFailure) -> UUID128

  /// Opens a stream that only sends, passes an entry to it and reports the outcome.
  ///
  /// - Parameter prepare: A closure that checks what is to be sent, after the options for the
  ///   connection were checked and before anything is opened.
  static func run(
    _ call: Invocation, _ kind: Kind, prepare: () throws(CommandFailure) -> Enqueue
  ) async throws(CommandFailure) {
    let clock = BootClock()
    let end = clock.now.advanced(by: call[timeout])
    var connection = try StreamConnection(
      call, shop: call[StreamConnection.shop], within: call[timeout])
    connection.configuration.realtime = false
    connection.configuration.sendsOnly = true
    let enqueue = try prepare()
    let (store, isStored) = try await store(call)
    let streams = try await connection.streams(in: store)
    let stream: ShopStream
    do {
      stream = try await streams.open(connection.configuration)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    let start = Delivery(kind, key: try await enqueue(stream), shop: stream.configuration.shop)
    let delivery = await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: {
      await start.followed(stream, until: end)
    }
    let result = await delivery.result(within: call[timeout], of: stream, isStored: isStored)
    await stream.close()
    await store.close()
    switch result {
    case .success(let sent): show(sent, kind, on: call)
    case .failure(let failure): throw await connection.reported(failure)
    }
  }

  /// Returns the store, and whether it is persistent.
  private static func store(
    _ call: Invocation
  ) async throws(CommandFailure) -> (any TimelineStore, isStored: Bool) {
    guard let directory = call[data] else { return (HoldfastPlatform.memoryStore(), false) }
    try call.demandOwned(directory)
    do {
      return (try await HoldfastPlatform.store(in: directory), true)
    } catch {
      guard case .locked = error else { throw CommandFailure(error) }
      call.diagnostic("\(directory) is in use, probably by a stream; sending without it")
      return (HoldfastPlatform.memoryStore(), false)
    }
  }

  private static func show(_ sent: Sent, _ kind: Kind, on call: Invocation) {
    let createdAt = sent.createdAt.map(RFC3339.format)
    let done =
      switch kind {
      case .message: "the server has the message as \(sent.id)"
      case .edit, .deletion: "the server has the \(kind.rawValue) of \(sent.id)"
      }
    guard call[Shared.json] else {
      let time = createdAt.map { " at \($0)" } ?? ""
      return call.console.line("\(kind.event) \(sent.id)\(time)", done: done)
    }
    JSONEvents(call.console).write(kind.event, done: done) {
      $0.entry("key", sent.key.description)
      $0.entry("id", sent.id.description)
      if let createdAt { $0.entry("createdAt", createdAt) }
    }
  }

  /// Returns the delivery once its outcome is known, the time limit has passed or the task is
  /// cancelled.
  private func followed(_ stream: ShopStream, until end: Instant) async -> Delivery {
    var result = await withTaskGroup(of: Delivery?.self) { group in
      group.addTask {
        var delivery = self
        for await update in stream.lastingUpdates {
          delivery.outcome = await delivery.outcome(after: update, of: stream)
          if delivery.outcome != nil { break }
        }
        return delivery
      }
      group.addTask {
        try? await BootClock().wait(until: end)
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      let last = await group.next() ?? nil
      return first ?? last ?? self
    }
    result.isStopped = Task.isCancelled
    return result
  }

  /// Returns the outcome. An unknown outcome is a failure.
  private func result(
    within limit: Duration, of stream: ShopStream, isStored: Bool
  ) async -> Result<Sent, CommandFailure> {
    if let outcome { return outcome }
    return .failure(await timedOut(after: limit, stream, isStored: isStored))
  }

  private mutating func outcome(
    after update: StreamUpdate, of stream: ShopStream
  ) async -> Result<Sent, CommandFailure>? {
    switch update {
    case .outbox(let entry):
      guard entry.id == key, case .failed(let reason) = entry.state else { return nil }
      return .failure(await refusal(reason, of: stream))
    case .outboxDone(let done, let message):
      guard done == key else { return nil }
      guard message != nil else {
        return .failure(
          CommandFailure(.failed, "the message was deleted", remedy: "`history` shows what is left")
        )
      }
      confirmed = message
    case .messages(let messages, _):
      for message in messages { seen[message.id] = message.createdAt }
    case .notice(.fetchFailed(let failure)), .notice(.sendFailed(let failure)):
      lastFailure = failure
    case .status, .notice, .edited, .deleted, .gap, .gapClosed, .history: break
    }
    if let confirmed, kind != .message || seen[confirmed] != nil {
      return .success(
        Sent(
          key: key, id: confirmed, createdAt: kind == .message ? seen[confirmed] : nil))
    }
    return ending.failure(after: update).map { .failure($0) }
  }

  /// Returns the failure for a refused entry. If a failure of the link was the cause, that failure
  /// is returned instead.
  private func refusal(_ reason: String, of stream: ShopStream) async -> CommandFailure {
    switch await stream.snapshot.link.status.reason {
    case .signIn: .signIn
    case .failure(let failure): StreamEnding.failure(failure, shop)
    case .blocked, .exhausted, .ended, .debouncing, .limited, nil:
      CommandFailure(.failed, "the \(kind.rawValue) was refused: \(reason.printable)")
    }
  }

  private func timedOut(
    after limit: Duration, _ stream: ShopStream, isStored: Bool
  ) async -> CommandFailure {
    let outbox = await stream.snapshot.outbox
    // An entry that is no longer in the outbox has arrived.
    let isWaiting = outbox.entries.contains { $0.id == key }
    let mayHaveArrived = !isWaiting || outbox.mayHaveArrived(key)
    let remedy =
      if isStored {
        "it is stored; the next stream or send with this --data sends it"
      } else if kind != .message {
        "repeat the command later"
      } else if mayHaveArrived {
        "it may have arrived; check before you send it again"
      } else {
        "it did not arrive; send it again later"
      }
    if isStopped {
      return CommandFailure(
        .failed, "ended by a signal before the server confirmed the \(kind.rawValue)",
        remedy: remedy)
    }
    if let lastFailure { return .unstored(lastFailure, within: limit, remedy: remedy) }
    return CommandFailure(
      .unreachable, "the server did not confirm the \(kind.rawValue) within \(limit.text)",
      remedy: remedy)
  }
}
