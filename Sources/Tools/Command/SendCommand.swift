import CommandKit
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire
import MessageStream

/// `holdfast send`: sends one message and ends when the server has confirmed it.
enum SendCommand {
  private static let text = Parameter.operand(
    .text("TEXT"), "the message; - reads it from standard input")
  private static let data = Parameter.optional(
    "data", .text("DIR"), usual: "in memory only",
    "keep the message in this directory until the server has it, whatever happens to this process")
  private static let timeout = Parameter.option(
    "timeout", .duration(.milliseconds(1) ... .seconds(86_400)), default: .seconds(30),
    "how long to try")

  static var command: Command {
    Command(
      "send", "send a message to a shop",
      details: [
        """
        Tries until the server confirms the message, with one idempotency key, so that it is \
        posted once. With --data it outlives a crash: `stream` or `send` with the same directory \
        sends it later. With --json a confirmed message is one object: event "sent", key, id, \
        createdAt.
        """,
        StreamConnection.details,
      ],
      examples: [
        .init(
          "holdfast send --server https://shop.example --shop bakery 'Fresh bread!'",
          "with the token in HOLDFAST_TOKEN"),
        .init(
          "date | holdfast send --server http://127.0.0.1:8787 --shop bakery --data /tmp/me -",
          "what standard input holds, kept until it is there"),
      ],
      takes: StreamConnection.server, StreamConnection.shop, StreamConnection.token,
      StreamConnection.tokenFile, StreamConnection.tokenCommand, StreamConnection.auth, data,
      timeout, StreamConnection.authorities, StreamConnection.plaintext, StreamConnection.proxy,
      StreamConnection.policyFile, Shared.settings, Shared.json, text, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    StreamSecrets.hide()
    var connection = try StreamConnection(call, named: "holdfast send")
    connection.configuration.realtime = false
    let message = try message(call[text])
    let (store, isKept) = try await store(call)
    let environment = connection.environment(store: store, lifecycle: AlwaysForeground())
    let stream: ShopStream
    do {
      stream = try await ShopStreams(environment).open(connection.configuration)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    let result = await deliver(message, call, stream, isKept: isKept)
    await stream.close()
    await store.close()
    switch result {
    case .success(let sent): show(sent, on: call)
    case .failure(let failure): throw failure
    }
  }

  private static func message(_ text: String) throws(CommandFailure) -> String {
    guard text == "-" else { return text }
    var content = String(decoding: try TextFile.read("-"), as: UTF8.self)
    while content.last?.isNewline == true { content.removeLast() }
    guard !content.isEmpty else {
      throw CommandFailure(.usage, "standard input holds no message", remedy: "give it some text")
    }
    return content
  }

  /// The store, and whether what it keeps outlives this process.
  private static func store(
    _ call: Invocation
  ) async throws(CommandFailure) -> (any TimelineStore, isKept: Bool) {
    guard let directory = call[data] else { return (Platform.memoryStore(), false) }
    do {
      return (try await Platform.store(in: directory), true)
    } catch {
      guard case .locked = error else { throw CommandFailure(error) }
      call.console.diagnostic(
        "holdfast send: \(directory) is in use, probably by a stream; sending without it")
      return (Platform.memoryStore(), false)
    }
  }

  private static func deliver(
    _ text: String, _ call: Invocation, _ stream: ShopStream, isKept: Bool
  ) async -> Result<Sent, CommandFailure> {
    let clock = BootClock()
    let limit = call[timeout]
    let delivery = Delivery(text: text, since: clock.wall, shop: stream.configuration.shop)
    stream.send(text)
    return await withTaskGroup(of: Result<Sent, CommandFailure>?.self) { group in
      group.addTask {
        var delivery = delivery
        for await update in stream {
          if let result = await delivery.result(after: update, of: stream) { return result }
        }
        return .failure(delivery.timedOut(after: limit, isKept: isKept))
      }
      group.addTask {
        try? await clock.wait(until: clock.now.advanced(by: limit))
        return nil
      }
      var result = await group.next() ?? nil
      group.cancelAll()
      if result == nil { result = await group.next() ?? nil }
      return result ?? .failure(delivery.timedOut(after: limit, isKept: isKept))
    }
  }

  private static func show(_ sent: Sent, on call: Invocation) {
    let createdAt = RFC3339.format(sent.createdAt)
    guard call[Shared.json] else {
      return call.console.line("sent \(sent.id) at \(createdAt)")
    }
    StreamEvents(console: call.console).write("sent") {
      $0.key("key")
      $0.string(sent.key.description)
      $0.key("id")
      $0.string(sent.id.description)
      $0.key("createdAt")
      $0.string(createdAt)
    }
  }
}

/// What the server confirmed.
private struct Sent: Sendable {
  var key: UUID128
  var id: MessageID
  var createdAt: Timestamp
}

/// Follows one message through the outbox.
private struct Delivery: Sendable {
  let text: String
  let since: Timestamp
  let shop: ShopID
  private var lastFailure: LinkFailure?
  private var ending: StreamEnding
  private var key: UUID128?
  private var confirmed: MessageID?
  private var seen: [MessageID: Timestamp] = [:]

  init(text: String, since: Timestamp, shop: ShopID) {
    self.text = text
    self.since = since
    self.shop = shop
    ending = StreamEnding(shop: shop)
  }

  mutating func result(
    after update: StreamUpdate, of stream: ShopStream
  ) async -> Result<Sent, CommandFailure>? {
    switch update {
    case .outbox(let entry):
      if key == nil, entry.text == text, entry.createdAt >= since { key = entry.id }
      guard entry.id == key, case .failed(let reason) = entry.state else { return nil }
      return .failure(await refusal(reason, of: stream))
    case .outboxDone(let done, let message):
      guard done == key else { return nil }
      confirmed = message
    case .messages(let messages, _):
      for message in messages { seen[message.id] = message.createdAt }
    case .notice(.fetchFailed(let failure)): lastFailure = failure
    case .status, .notice, .edited, .gap, .gapClosed, .history: break
    }
    if let key, let confirmed, let createdAt = seen[confirmed] {
      return .success(Sent(key: key, id: confirmed, createdAt: createdAt))
    }
    return ending.failure(after: update).map { .failure($0) }
  }

  /// A refused message; the link knows when it was not about the message.
  private func refusal(_ reason: String, of stream: ShopStream) async -> CommandFailure {
    switch await stream.snapshot.link.status.reason {
    case .signIn: StreamEnding.signIn
    case .failure(let failure): StreamEnding.failure(failure, shop)
    case .obstacle, .exhausted, .ended, .settling, nil:
      CommandFailure(.failed, "the message was refused: \(StreamText.safe(reason))")
    }
  }

  func timedOut(after limit: Duration, isKept: Bool) -> CommandFailure {
    let cause = lastFailure.map { " (\(StreamText.safe(StreamReason.text($0))))" } ?? ""
    return CommandFailure(
      lastFailure.map { ExitCode($0) } ?? .unreachable,
      "the server did not confirm the message within \(limit.text)\(cause)",
      remedy: isKept
        ? "it is kept, and the next stream or send with this --data sends it"
        : "it may have arrived; look before you send it again")
  }
}
