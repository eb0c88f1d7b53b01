import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts

/// The options of `stream` that select a durable consumer, and the printing of its deliveries.
struct StreamDeliveries: Sendable {
  static let consumer = Parameter.optional(
    "consumer", .consumer, usual: "none, and what was not read is not repeated",
    "continue after the last message that the consumer NAME acknowledged, across restarts; a "
      + "message counts as acknowledged once it is written to standard output")
  static let from = Parameter.optional(
    "from", .start, usual: "the newest 50",
    "first print the stored messages from START on; for a consumer that is known, where it was "
      + "counts instead")
  static let confirm = Parameter.flag(
    "confirm",
    "with --consumer and --json: a message counts as acknowledged once its delivery number comes "
      + "back as a line of standard input; at most 1,000 wait for that")

  /// The paragraph that describes consumers in help texts.
  static let details = """
    With --consumer NAME a program that reads the output misses no message, whatever is killed \
    and when: each message, each edit and each deletion is delivered again until it is \
    acknowledged. While the disk is full, deliveries wait. `consumer list` shows the consumers and \
    `consumer remove` ends one, which otherwise keeps its queue for ever.
    """

  /// The maximum number of deliveries that wait for confirmation.
  static let window: UInt64 = 1_000

  /// The name of the consumer in a run with only `--from`. Users cannot choose this name, and the
  /// consumer is removed at the end of the run.
  static let ownName = "-"

  /// The start of a new consumer; `nil` for a consumer that continues.
  let beginning: StreamBeginning?
  private let consumer: ShopConsumer
  private let confirmations: Confirmations?
  private let isPersistent: Bool
  private let output: any LinkView<StreamUpdate>
  private let events: JSONEvents?
  /// The number of consecutive failures of the store that ends the deliveries.
  private let tries: Int

  /// Throws a usage error if the options contradict each other.
  static func check(_ call: Invocation, sendsInput: Bool) throws(CommandFailure) {
    guard call[confirm] else { return }
    if call[consumer] == nil || !call[Shared.json] {
      throw CommandFailure(.usage, "--confirm needs --consumer and --json")
    }
    if sendsInput {
      throw CommandFailure(
        .usage, "--confirm and --send-stdin both read standard input", remedy: "choose one")
    }
  }

  /// Opens the consumer that the options select. Returns `nil` if they select none.
  ///
  /// - Parameters:
  ///   - isAlone: Whether there is only one shop, so that events do not have to name it.
  ///   - isOnce: Whether the deliveries end if the store keeps failing.
  init?(
    _ call: Invocation, of stream: ShopStream, in store: any TimelineStore,
    to view: any LinkView<StreamUpdate>, isAlone: Bool, isOnce: Bool
  ) async throws(StoreFailure) {
    let shop = stream.configuration.shop
    guard let own = ConsumerName(Self.ownName) else { return nil }
    // A run that was killed may have left its consumer in the store.
    _ = try await store.removeConsumer(own, of: shop)
    guard call[Self.consumer] != nil || call[Self.from] != nil else { return nil }
    let name = call[Self.consumer] ?? own
    let start = call[Self.from] ?? .usual
    beginning = try await StreamBeginning(of: name, from: start, in: shop, store)
    consumer = try await stream.consumer(name, from: start)
    isPersistent = call[Self.consumer] != nil
    confirmations = call[Self.confirm] ? Confirmations(after: try await consumer.state) : nil
    output = view
    tries = isOnce ? stream.configuration.policy.retry.first.attempts ?? .max : .max
    events = call[Shared.json] ? JSONEvents(call.console, shop: isAlone ? nil : shop.text) : nil
  }

  /// The way in which the printing of deliveries ended.
  struct Ending: Sendable {
    /// The number of deliveries that were printed but not confirmed.
    var unconfirmed: UInt64 = 0
    /// The failure of the store that ended the deliveries, if any.
    var failure: StoreFailure?

    /// Returns the failure to report, if any.
    func commandFailure(isOnce: Bool) -> CommandFailure? {
      if let failure { return CommandFailure(failure) }
      guard isOnce, unconfirmed > 0 else { return nil }
      return CommandFailure(
        .failed,
        unconfirmed == 1
          ? "1 message was not confirmed before standard input ended"
          : "\(unconfirmed) messages were not confirmed before standard input ended",
        remedy: unconfirmed == 1 ? "it is delivered again" : "they are delivered again")
    }
  }

  /// Prints deliveries until the stream is closed. After `finish()`, prints them up to the last
  /// stored delivery.
  func run() async -> Ending {
    var last: UInt64 = 0
    do throws(StoreFailure) {
      var batches = consumer.makeAsyncIterator()
      while let batch = try await batches.next() {
        for delivery in batch { await show(delivery) }
        last = batch.last?.number ?? last
        if let confirmations {
          await confirmations.wait(for: last - min(last, Self.window - UInt64(ShopConsumer.limit)))
        } else {
          try await acknowledge(through: last)
        }
      }
    } catch {
      return Ending(failure: error)
    }
    await confirmations?.wait(for: last)
    return Ending(unconfirmed: confirmations.map { last - min(last, $0.last) } ?? 0)
  }

  /// Acknowledges deliveries. While the store is full or busy, waits and tries again, as the stream
  /// does with messages, until the task is cancelled.
  private func acknowledge(through number: UInt64) async throws(StoreFailure) {
    var failures = 0
    while true {
      do throws(StoreFailure) {
        try await consumer.acknowledge(through: number)
        if failures > 0 { await note(.storeRecovered) }
        return
      } catch {
        failures += 1
        guard error.mayPass, failures < tries else { throw error }
        if failures == 1 { await note(.store(error)) }
        let clock = BootClock()
        let wait = Schedule.afterStoreFailures.wait(after: failures)
        // At the end of the run the deliveries stay in the queue.
        guard (try? await clock.wait(until: clock.now.advanced(by: wait))) != nil else { return }
      }
    }
  }

  private func note(_ notice: StreamNotice) async {
    await output.note(notice.kind, notice.description)
  }

  /// Ends the run of a stream if printing fails or no more confirmations can arrive.
  func watch(
    _ printing: Task<Ending, Never>, isOnce: Bool, in group: inout TaskGroup<Void>,
    end: @escaping @Sendable () async -> Void
  ) {
    group.addTask { if await printing.value.failure != nil { await end() } }
    guard confirmations != nil else { return }
    group.addTask {
      await confirm()
      if !isOnce { await end() }
    }
  }

  /// Acknowledges deliveries that standard input confirms, and reports lines that are not a number.
  private func confirm() async {
    guard let confirmations else { return }
    var lines = StandardInput(InputLines(longest: 20)).makeAsyncIterator()
    while let line = await lines.next() {
      guard let number = line.text.flatMap({ UInt64($0) }) else {
        await output.note("confirm", "line \(line.number) is not the number of a delivery")
        continue
      }
      do throws(StoreFailure) {
        try await acknowledge(through: number)
        confirmations.note(number)
      } catch {
        await output.note("confirm", error.description)
      }
    }
    confirmations.end()
  }

  /// Makes `run()` return after the last stored delivery.
  func finish() { consumer.finish() }

  /// Makes `run()` return without waiting for confirmations.
  func stop() { confirmations?.end() }

  /// Removes a consumer that belongs only to this run.
  func end(in store: any TimelineStore, of shop: ShopID) async {
    if !isPersistent { _ = try? await store.removeConsumer(consumer.name, of: shop) }
  }

  private func show(_ delivery: ShopDelivery) async {
    if let events { return delivery.write(to: events) }
    switch delivery.content {
    case .message(let message): await output.show(.messages([message], via: .history))
    case .edit(let message): await output.show(.edited([message]))
    case .deletion(let deletion): await output.show(.deleted([deletion]))
    }
  }
}

/// A view that omits messages, because they are printed as deliveries.
struct ViewBesideDeliveries: LinkView {
  let view: any LinkView<StreamUpdate>

  func show(_ update: StreamUpdate) async {
    switch update {
    case .messages, .edited, .deleted, .history: return
    case .status, .gap, .gapClosed, .outbox, .outboxDone, .notice: await view.show(update)
    }
  }

  func note(_ kind: String, _ detail: String?) async { await view.note(kind, detail) }

  func end() async { await view.end() }
}

extension Format<ConsumerName> {
  /// The format for a consumer's name.
  static let consumer = Format(
    placeholder: "NAME",
    expectation: "1 to 128 letters, digits, dots, dashes or underscores, and not - alone"
  ) {
    $0 == "-" ? nil : ConsumerName($0)
  }
}

extension Format<ConsumerStart> {
  /// The format for the start of a consumer.
  static let start = Format(
    placeholder: "START", expectation: "all, a time such as 2026-11-20T08:00:00Z, or a position",
    note: "START is all, a time (RFC 3339), or the position of a message event, EPOCH:OFFSET."
  ) {
    if $0 == "all" { return .all }
    if let time = RFC3339.parse($0) { return .since(time) }
    return ShopPosition($0).map { .after($0) }
  }
}

extension StoreFailure {
  /// Whether the store may work again without any action on its file.
  fileprivate var mayPass: Bool {
    switch self {
    case .full, .locked: true
    case .other, .corrupt, .fromTheFuture, .denied: false
    }
  }
}
