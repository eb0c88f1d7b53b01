import HoldfastCommandKit
import Holdfast
import HoldfastCore
import HoldfastJSON
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastWire
import HoldfastMessageStream

/// The command `holdfast send`: sends one message and waits until the server confirms it.
enum SendCommand {
  private static let text = Parameter.operand(
    .text("TEXT"), "the message; - reads it from standard input")
  private static let data = Parameter.optional(
    "data", .text("DIR"), usual: "in memory only",
    "store the message in this directory until the server has confirmed it")
  private static let timeout = Parameter.option(
    "timeout", .duration(.milliseconds(1) ... .seconds(86_400)), default: .seconds(30),
    "how long to wait for the confirmation")

  static var command: Command {
    Command(
      "send", "send a message to a shop",
      details: [
        """
        Retries until the server confirms the message. All attempts use the same idempotency key, \
        so it is posted only once. With --data it survives a crash: the next `stream` or `send` \
        with that directory sends it. With --json a confirmed message is one object: event "sent", \
        key, id, createdAt.
        """,
        Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast send --server https://shop.example --shop bakery 'Fresh bread!'",
          "with the token in HOLDFAST_TOKEN"),
        .init(
          "date | holdfast send --server http://127.0.0.1:8787 --shop bakery --data /tmp/me -",
          "send standard input, and store it until it is confirmed"),
      ],
      takes: Connection.server, StreamConnection.shop, Connection.token, Connection.tokenFile,
      Connection.tokenCommand, StreamConnection.auth, data, timeout, Connection.authorities,
      Connection.plaintext, Connection.proxy, Connection.policyFile, Shared.settings, Shared.json,
      text, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let clock = BootClock()
    let end = clock.now.advanced(by: call[timeout])
    var connection = try StreamConnection(
      call, shop: call[StreamConnection.shop], within: call[timeout])
    connection.configuration.realtime = false
    connection.configuration.sendsOnly = true
    let message = try message(call[text])
    let (store, isStored) = try await store(call)
    let streams = try await connection.streams(in: store)
    let stream: ShopStream
    do {
      stream = try await streams.open(connection.configuration)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    let start = Delivery(key: stream.enqueue(message), shop: stream.configuration.shop)
    let delivery = await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: {
      await start.followed(stream, until: end)
    }
    let result = await delivery.result(within: call[timeout], of: stream, isStored: isStored)
    await stream.close()
    await store.close()
    switch result {
    case .success(let sent): show(sent, on: call)
    case .failure(let failure): throw await connection.reported(failure)
    }
  }

  private static func message(_ text: String) throws(CommandFailure) -> String {
    var content = text
    if text == "-" {
      let bytes = try TextFile.read("-", atMost: StreamCommand.longestLine)
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure(
          .usage, "standard input is not valid UTF-8", remedy: "convert it first")
      }
      content = text
      while content.last?.isNewline == true { content.removeLast() }
    }
    guard content.contains(where: { !$0.isWhitespace }) else {
      let problem = text == "-" ? "standard input contains no message" : "the message is blank"
      throw CommandFailure(.usage, problem, remedy: "write some text")
    }
    if let fault = StreamModel.refusal(of: content) {
      throw CommandFailure(
        .failed, "the message was not sent: \(fault)", remedy: "send it in parts")
    }
    return content
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

  private static func show(_ sent: Sent, on call: Invocation) {
    let createdAt = RFC3339.format(sent.createdAt)
    let done = "the server has the message as \(sent.id)"
    guard call[Shared.json] else {
      return call.console.line("sent \(sent.id) at \(createdAt)", done: done)
    }
    JSONEvents(call.console).write("sent", done: done) {
      $0.entry("key", sent.key.description)
      $0.entry("id", sent.id.description)
      $0.entry("createdAt", createdAt)
    }
  }
}

/// A message that the server has confirmed.
private struct Sent: Sendable {
  var key: UUID128
  var id: MessageID
  var createdAt: Timestamp
}

/// The delivery of a single message through the outbox.
private struct Delivery: Sendable {
  /// The message's key in the outbox.
  let key: UUID128
  let shop: ShopID
  private var outcome: Result<Sent, CommandFailure>?
  /// Whether a signal ended the wait for the outcome.
  private var isStopped = false
  private var lastFailure: LinkFailure?
  private var ending: StreamEnding
  private var confirmed: MessageID?
  private var seen: [MessageID: Timestamp] = [:]

  init(key: UUID128, shop: ShopID) {
    self.key = key
    self.shop = shop
    ending = StreamEnding(shop: shop)
  }

  /// Returns the delivery once its outcome is known, the time limit has passed or the task is
  /// cancelled.
  func followed(_ stream: ShopStream, until end: Instant) async -> Delivery {
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
  func result(
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
      confirmed = message
    case .messages(let messages, _):
      for message in messages { seen[message.id] = message.createdAt }
    case .notice(.fetchFailed(let failure)), .notice(.sendFailed(let failure)):
      lastFailure = failure
    case .status, .notice, .edited, .deleted, .gap, .gapClosed, .history: break
    }
    if let confirmed, let createdAt = seen[confirmed] {
      return .success(Sent(key: key, id: confirmed, createdAt: createdAt))
    }
    return ending.failure(after: update).map { .failure($0) }
  }

  /// Returns the failure for a refused message. If a failure of the link was the cause, that
  /// failure is returned instead.
  private func refusal(_ reason: String, of stream: ShopStream) async -> CommandFailure {
    switch await stream.snapshot.link.status.reason {
    case .signIn: .signIn
    case .failure(let failure): StreamEnding.failure(failure, shop)
    case .blocked, .exhausted, .ended, .debouncing, .limited, nil:
      CommandFailure(.failed, "the message was refused: \(reason.printable)")
    }
  }

  private func timedOut(
    after limit: Duration, _ stream: ShopStream, isStored: Bool
  ) async -> CommandFailure {
    let outbox = await stream.snapshot.outbox
    // A message that is no longer in the outbox has arrived.
    let isWaiting = outbox.entries.contains { $0.id == key }
    let mayHaveArrived = !isWaiting || outbox.mayHaveArrived(key)
    let remedy =
      if isStored {
        "it is stored; the next stream or send with this --data sends it"
      } else if mayHaveArrived {
        "it may have arrived; check before you send it again"
      } else {
        "it did not arrive; send it again later"
      }
    if isStopped {
      return CommandFailure(
        .failed, "ended by a signal before the server confirmed the message", remedy: remedy)
    }
    if let lastFailure { return .unstored(lastFailure, within: limit, remedy: remedy) }
    return CommandFailure(
      .unreachable, "the server did not confirm the message within \(limit.text)", remedy: remedy)
  }
}
