import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSocket
import Synchronization

/// The effect handler of a bottle. It uses the radio and the store, and delivers updates.
actor BottleEffectHandler: EffectHandler {
  let thread: EventThread
  let sink = InputSink<BottleModel>()
  let updates: UpdateChannel<BottleUpdate>
  private let central: any Central
  private let store: any DrinkStore
  private let clock: any LinkClock
  private let tasks: EffectTasks<BottleModel, AttemptID>
  private let radio: RadioEvents
  /// The task of the most recently requested write. `keeping` is the task of the latest change of
  /// the store.
  private var writing: Task<Void, Never>?
  private var keeping: Task<Void, Never>?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(_ configuration: BottleLinkConfiguration, _ store: any DrinkStore) {
    thread = .queue("holdfast.bottle")
    (central, self.store) = (configuration.radio, store)
    clock = configuration.ports.clock
    tasks = EffectTasks(sink)
    radio = RadioEvents(sink, clock)
    updates = UpdateChannel(overflow: Self.overflow)
  }

  /// Replaces the last state with a newer one and drops notices while the app reads no updates.
  ///
  /// Drinks are kept. A bottle stores at most 600 of them.
  @Sendable private static func overflow(_ waiting: inout [BottleUpdate], _ next: BottleUpdate) {
    switch (next, waiting.last) {
    case (.notice, _), (.calibration, _): return
    case (.status, .status), (.bottle, .bottle): waiting.removeLast()
    case (.status, _), (.bottle, _), (.drink, _), (.refreshed, _), (.performed, _): break
    }
    waiting.append(next)
  }

  /// Starts to receive the radio's events.
  nonisolated func listen() {
    radio.begin(central)
  }

  func perform(_ effect: BottleModel.Effect) async {
    switch effect {
    case .scan: central.scan(for: [BottleAttribute.service])
    case .stopScan: central.stopScan()
    case .connect(let attempt, let id, let isQueued, let rest):
      central.connect(id, attempt: attempt, isQueued: isQueued, after: rest)
    case .cancel(let attempt, _):
      tasks.cancel(attempt)
      central.cancel(attempt)
    case .discover(let attempt): discover(attempt)
    case .write(let attempt, let id, let attribute, let bytes):
      write(attempt, id, attribute, bytes)
    case .commit(let id, let change): commit(id, change)
    case .confirm(let number): confirm(number)
    case .update(.status(let status)):
      updates.put(.status(status), failure: status.isFinal ? status.failure : nil)
    case .update(let update): updates.put(update)
    }
  }

  func stop() async {
    tasks.stop()
    radio.end()
    await central.close()
    await writing?.value
    await keeping?.value
  }

  /// Discovers the services, subscribes, and then reads the state.
  ///
  /// With this order, a change of the state between the steps is reported as a notification.
  private func discover(_ attempt: AttemptID) {
    tasks.start(attempt) { [central, clock] () throws(LinkFailure) in
      try await central.discover(
        BottleAttribute.service, BottleAttribute.required.map(\.id), of: attempt)
      try await central.notify(BottleAttribute.state.id, of: attempt)
      try await central.notify(BottleAttribute.drinks.id, of: attempt)
      // These attributes are optional.
      for attribute in [BottleAttribute.calibration, .battery] {
        try? await central.notify(attribute.id, of: attempt)
      }
      let bytes = try await central.read(BottleAttribute.state.id, of: attempt)
      let longest = await central.longestValue(of: attempt)
      do throws(BottleFormatError) {
        return .discovered(
          attempt, longestValue: longest, try BottleState(bytes), at: clock.wall)
      } catch {
        return .undiscovered(attempt, .protocolError(detail: error.description))
      }
    } failing: {
      .undiscovered(attempt, $0)
    }
  }

  /// Writes a value after all earlier values have been written, since the radio writes one at a
  /// time.
  private func write(
    _ attempt: AttemptID, _ id: WriteID, _ attribute: BottleAttribute, _ bytes: [UInt8]
  ) {
    writing = Task { [central, sink, writing] in
      await writing?.value
      do throws(LinkFailure) {
        try await central.write(bytes, to: attribute.id, of: attempt)
        await sink.post([.written(id)])
      } catch {
        await sink.post([.unwritten(id, error)])
      }
    }
  }

  /// Commits a change to the store after all earlier changes.
  private func commit(_ id: UInt64, _ change: DrinkChange) {
    keeping = Task { [store, sink, keeping] in
      await keeping?.value
      do throws(StoreFailure) {
        await sink.post([.committed(id, try await store.commit(change))])
      } catch {
        await sink.post([.uncommitted(id, error)])
      }
    }
  }

  /// Confirms a drink. If the confirmation is lost, the next run shows the drink again.
  private func confirm(_ number: UInt64) {
    keeping = Task { [store, keeping] in
      await keeping?.value
      try? await store.confirm(number)
    }
  }
}

/// A queue that forwards the events of a radio to the model, in order.
///
/// If values arrive faster than the model processes them, those beyond a limit are dropped. A
/// dropped chunk is requested again. Other events are rare, because each of them answers a request
/// of the model.
final class RadioEvents: Sendable {
  /// The maximum number of waiting values.
  ///
  /// The limit is more than ten times the number of values that a bottle sends without an
  /// acknowledgement.
  private static let limit = 256

  private let sink: InputSink<BottleModel>
  private let clock: any LinkClock
  private let values = Mutex(0)
  private let stream: AsyncStream<CentralEvent>
  private let input: AsyncStream<CentralEvent>.Continuation
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(_ sink: InputSink<BottleModel>, _ clock: any LinkClock) {
    (self.sink, self.clock) = (sink, clock)
    (stream, input) = AsyncStream.makeStream()
  }

  func begin(_ central: any Central) {
    task.withLock { task in
      task = Task { [stream, sink, clock, weak self] in
        for await event in stream {
          self?.note(event, by: -1)
          if let input = BottleModel.Input(event, at: clock.wall) { await sink.post([input]) }
        }
      }
    }
    central.events { [weak self] in self?.take($0) }
  }

  func end() {
    input.finish()
    task.withLock(\.self)?.cancel()
  }

  private func take(_ event: CentralEvent) {
    if note(event, by: 1) <= Self.limit { input.yield(event) } else { note(event, by: -1) }
  }

  /// Changes the count of waiting values if the event is a value.
  @discardableResult
  private func note(_ event: CentralEvent, by count: Int) -> Int {
    guard case .value = event else { return 0 }
    return values.withLock { values in
      values += count
      return values
    }
  }
}

extension BottleModel.Input {
  /// Creates the input for an event. Returns `nil` for a value that the model does not use.
  fileprivate init?(_ event: CentralEvent, at wall: Timestamp) {
    guard case .value(let attempt, let id, let bytes) = event else {
      self = .central(event)
      return
    }
    guard let attribute = BottleAttribute(id: id),
      let news = BottleModel.News(bytes, of: attribute)
    else { return nil }
    self = .heard(attempt, news, at: wall)
  }
}
