import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import Synchronization

/// The delivery of a single message, edit or deletion through the outbox, for the commands that do
/// nothing else.
struct Delivery: Sendable {
  /// A kind of entry and the words for it.
  enum Kind: Sendable, Equatable {
    case message
    case edit(MessageID)
    case deletion(MessageID)

    /// The name of the event for a confirmed entry, which is also the first word of its line.
    var event: String {
      switch self {
      case .message: "sent"
      case .edit: "edited"
      case .deletion: "deleted"
      }
    }

    /// The noun for an entry.
    var noun: String {
      switch self {
      case .message: "message"
      case .edit: "edit"
      case .deletion: "deletion"
      }
    }

    /// The message that is edited or deleted; `nil` for a new message.
    var target: MessageID? {
      switch self {
      case .message: nil
      case .edit(let id), .deletion(let id): id
      }
    }

    /// The remedy if the token does not allow the change.
    var permission: String {
      switch self {
      case .message: "ask to be added to the shop, or use another token"
      case .edit: "use the token of its author, or send a new message"
      case .deletion: "use the token of its author or of an admin of the shop"
      }
    }
  }

  /// A message, edit or deletion to send.
  struct Entry: Sendable {
    var kind: Kind
    /// Passes the entry to a stream, with its key.
    var enqueue: @Sendable (ShopStream, UUID128) async throws(CommandFailure) -> Void
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
    "how long to wait for the confirmation, or for the upload of an image to go on")

  private let kind: Kind
  /// The key of the entry in the outbox.
  private let key: UUID128
  private let shop: ShopID
  /// The directory in which the entry is stored; `nil` if it is only in memory.
  private let directory: String?
  private var outcome: Result<Sent, CommandFailure>?
  /// Whether the entry was passed to the stream.
  private var isQueued = false
  /// Whether a signal ended the wait for the outcome.
  private var isStopped = false
  private var lastFailure: LinkFailure?
  private var ending: StreamEnding
  private var confirmed: MessageID?
  private var seen: [MessageID: Timestamp] = [:]

  private init(_ kind: Kind, key: UUID128, shop: ShopID, in directory: String?) {
    self.kind = kind
    self.key = key
    self.shop = shop
    self.directory = directory
    ending = StreamEnding(shop: shop)
  }

  /// Opens a stream that only sends, passes an entry to it and reports the outcome.
  ///
  /// - Parameter prepare: A closure that checks what is to be sent, after the options for the
  ///   connection were checked and before anything is opened.
  static func run(
    _ call: Invocation, prepare: () async throws(CommandFailure) -> Entry
  ) async throws(CommandFailure) {
    let clock = BootClock()
    let deadline = ProgressDeadline(call[timeout], from: clock.now)
    var connection = try StreamConnection(
      call, shop: call[StreamConnection.shop], within: call[timeout])
    connection.configuration.realtime = false
    connection.configuration.sendsOnly = true
    let entry = try await prepare()
    let (store, directory) = try await store(call)
    let stream = try await connection.stream(in: store)
    let progress = stream.imageProgress
    let start = Delivery(
      entry.kind, key: .random(), shop: stream.configuration.shop, in: directory)
    let delivery = await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: {
      let queued = await start.queued(entry, on: stream)
      guard queued.isQueued else { return queued }
      return await queued.followed(
        stream, until: deadline, progress, TransferLine("uploaded", call))
    }
    let result = await delivery.result(within: call[timeout], of: stream)
    await stream.close()
    await store.close()
    switch result {
    case .success(let sent): show(sent, entry.kind, on: call)
    case .failure(let failure): throw await connection.reported(failure)
    }
  }

  /// Returns the delivery after its entry was passed to a stream, or after that failed.
  private func queued(_ entry: Entry, on stream: ShopStream) async -> Delivery {
    var delivery = self
    stream.keepFailures(of: key)
    do throws(CommandFailure) {
      try await entry.enqueue(stream, key)
      delivery.isQueued = true
    } catch {
      delivery.isStopped = Task.isCancelled
      if !delivery.isStopped { delivery.outcome = .failure(error) }
    }
    return delivery
  }

  /// Returns the store and its directory; without a directory, the store is in memory.
  private static func store(
    _ call: Invocation
  ) async throws(CommandFailure) -> (any TimelineStore, directory: String?) {
    guard let directory = call[data] else { return (HoldfastPlatform.memoryStore(), nil) }
    try call.demandOwned(directory)
    do {
      return (try await HoldfastPlatform.store(in: directory), directory)
    } catch {
      guard case .locked = error else { throw CommandFailure(error) }
      call.diagnostic("\(directory) is in use, probably by a stream; sending without it")
      return (HoldfastPlatform.memoryStore(), nil)
    }
  }

  private static func show(_ sent: Sent, _ kind: Kind, on call: Invocation) {
    let createdAt = sent.createdAt.map(RFC3339.format)
    let done =
      switch kind {
      case .message: "the server has the message as \(sent.id)"
      case .edit, .deletion: "the server has the \(kind.noun) of \(sent.id)"
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
  private func followed(
    _ stream: ShopStream, until start: ProgressDeadline,
    _ progress: AsyncStream<ShopStream.ImageProgress>, _ line: TransferLine
  ) async -> Delivery {
    let deadline = SharedDeadline(start)
    let watching = Task { [key] in
      for await value in progress where value.entry == key {
        deadline.take(value)
        line.show(value.sent, of: value.size)
      }
    }
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
        var end = deadline.end
        while BootClock().now < end, !Task.isCancelled {
          try? await BootClock().wait(until: end)
          end = deadline.end
        }
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      let last = await group.next() ?? nil
      return first ?? last ?? self
    }
    watching.cancel()
    await watching.value
    line.end()
    result.isStopped = Task.isCancelled
    return result
  }

  /// Returns the outcome. An unknown outcome is a failure.
  private func result(
    within limit: Duration, of stream: ShopStream
  ) async -> Result<Sent, CommandFailure> {
    if let outcome { return outcome }
    return .failure(await timedOut(after: limit, stream))
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
      guard message != nil else { return .failure(missing(stream.lastFailure(of: key))) }
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

  /// Returns the failure for an entry that ended because the server does not have its message.
  private func missing(_ failure: LinkFailure?) -> CommandFailure {
    guard let target = kind.target, failure?.missingMessage == .unknown else {
      return CommandFailure(
        .failed, "the message was deleted", remedy: "`history` shows what is left")
    }
    return CommandFailure(
      .failed, "shop \(shop) has no message \(target)",
      remedy: "check the id and the shop; `history --ids` shows the ids of stored messages")
  }

  /// Returns the failure for a refused entry. If a failure of the link was the cause, that failure
  /// is returned instead.
  private func refusal(_ reason: String, of stream: ShopStream) async -> CommandFailure {
    let attempt = stream.lastFailure(of: key)
    switch await stream.snapshot.link.status.reason {
    case .signIn: return .signIn
    case .failure(let failure): return StreamEnding.failure(failure, shop)
    case .blocked, .exhausted, .ended, .debouncing, .limited, nil:
      let isForbidden = attempt?.failureClass == .forbidden
      let kept = directory.map {
        "it is kept in \($0): use `outbox retry` or `outbox discard` with that --data"
      }
      let remedies = [isForbidden ? kind.permission : nil, kept].compactMap(\.self)
      return CommandFailure(
        isForbidden ? .forbidden : .failed,
        "the \(kind.noun) was refused: \(reason.printable)",
        remedy: remedies.isEmpty ? "nothing was changed" : remedies.joined(separator: "; "))
    }
  }

  private func timedOut(
    after limit: Duration, _ stream: ShopStream
  ) async -> CommandFailure {
    let outbox = await stream.snapshot.outbox
    // An entry that is no longer in the outbox has arrived.
    let isWaiting = outbox.entries.contains { $0.id == key }
    let mayHaveArrived = !isWaiting || outbox.mayHaveArrived(key)
    let remedy =
      if directory != nil, isQueued {
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
        .failed, "ended by a signal before the server confirmed the \(kind.noun)",
        remedy: remedy)
    }
    if let lastFailure {
      return .unstored(lastFailure, kind.noun, within: limit, remedy: remedy)
    }
    return CommandFailure(
      .unreachable, "the server did not confirm the \(kind.noun) within \(limit.text)",
      remedy: remedy)
  }
}

/// A deadline that the tasks of a delivery share.
private final class SharedDeadline: Sendable {
  private let value: Mutex<ProgressDeadline>

  init(_ start: ProgressDeadline) { value = Mutex(start) }

  var end: Instant { value.withLock(\.end) }

  func take(_ progress: ShopStream.ImageProgress) {
    value.withLock {
      $0.take(sent: progress.sent, pending: progress.pending, at: BootClock().now)
    }
  }
}
