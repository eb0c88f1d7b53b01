package import HoldfastCore
import HoldfastDriver
package import HoldfastPorts
import Synchronization

/// An actor that carries out the effects of one feature.
///
/// It translates effects into calls of this module and of ports, and the results of the calls into
/// inputs.
package protocol EffectHandler: Actor {
  associatedtype Model: Journaled
  associatedtype Update: Sendable

  /// The thread of the handler, which is also that of its driver.
  nonisolated var thread: EventThread { get }
  /// The sink to which the handler posts inputs.
  nonisolated var sink: InputSink<Model> { get }
  /// The channel through which the handler delivers updates to the app.
  nonisolated var updates: UpdateChannel<Update> { get }

  /// Carries out one effect. The method must return quickly, because the driver waits for it.
  func perform(_ effect: Model.Effect) async

  /// Stops the work in progress. The method may be called more than once.
  func stop() async
}

extension EffectHandler {
  /// Closes the handler's sink, stops the handler, and ends the updates.
  fileprivate nonisolated func end() async {
    sink.close()
    await stop()
    updates.end()
  }
}

/// A running feature: its driver, effect handler, device monitors, commands and updates.
package final class MachineRuntime<S: EffectHandler>: Sendable {
  package typealias Input = S.Model.Input

  package let effectHandler: S
  private let driver: Driver<S.Model>
  private let commands: CommandQueue<S.Model>
  private let task: Task<Void, Never>

  /// Creates a runtime and starts the driver.
  ///
  /// - Parameters:
  ///   - device: The monitors of the device, whose initial state is the machine's first input;
  ///     `nil` for no monitors.
  ///   - inputs: The inputs that follow the initial state of the device.
  ///   - onEnd: A function that runs after everything has ended, including the journal.
  package init(
    _ start: MachineStart<S.Model>, _ effectHandler: S, clock: any LinkClock,
    device: Device<Input>? = nil, first inputs: [Input] = [],
    onEnd: @escaping @Sendable () async -> Void = {}
  ) {
    let driver = Driver(
      machine: start.machine, clock: clock, journal: start.journal, on: effectHandler.thread
    ) { effect, _ in await effectHandler.perform(effect) }
    effectHandler.sink.open(to: driver)
    let present = device?.present() ?? []
    for input in present + inputs where !driver.tryPost(input) {
      preconditionFailure("the inbox of a new driver has room for the first inputs")
    }
    (self.effectHandler, self.driver) = (effectHandler, driver)
    commands = CommandQueue(driver)
    task = Task {
      await Self.run(driver, device)
      await effectHandler.end()
      await start.journal?.close()
      await onEnd()
    }
  }

  deinit {
    task.cancel()
    effectHandler.updates.end()
  }

  /// Runs the driver and posts the reports of the device monitors, until the task is cancelled.
  private static func run(_ driver: Driver<S.Model>, _ device: Device<Input>?) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await driver.run() }
      if let device {
        group.addTask { await device.reportReachability { await driver.post($0) } }
        group.addTask {
          await device.reportLifecycle {
            await driver.post($0)
          } settled: {
            await driver.waitUntil { _ in true }
          }
        }
      }
      await group.waitForAll()
    }
  }

  /// Passes a command to the machine without waiting, in the order of the calls.
  package func command(_ input: Input) { commands.put(input) }

  /// Passes a command that tries the link again, also after a failure.
  ///
  /// Until the machine has processed it, there is no failure, and no loop over the updates ends.
  ///
  /// - Parameter end: A function that runs once the machine has processed the command.
  package func restart(_ input: Input, then end: @escaping @Sendable () -> Void = {}) {
    let updates = effectHandler.updates
    updates.beginRestart()
    commands.put(input)
    Task { [driver, commands] in
      await commands.drained()
      await driver.waitUntil { _ in true }
      updates.endRestart()
      end()
    }
  }

  /// Posts an input after all earlier commands.
  ///
  /// The call runs to completion even if the calling task is cancelled.
  package func post(_ input: Input) async {
    await Task { [driver, commands] in
      await commands.drained()
      await driver.post(input)
    }.value
  }

  /// A snapshot of the machine, taken between two steps.
  package var snapshot: S.Model {
    get async { await driver.snapshot }
  }

  /// Waits until all earlier commands have been processed and `condition` holds.
  ///
  /// The call also returns when the driver has ended or the task is cancelled. It then returns
  /// false.
  @discardableResult
  package func waitUntil(_ condition: @escaping @Sendable (S.Model) -> Bool) async -> Bool {
    await commands.drained()
    return await driver.waitUntil(condition)
  }

  /// Posts the last input, waits until `condition` holds, and ends the runtime.
  ///
  /// The call runs to completion even if the calling task is cancelled.
  package func close(_ last: Input, until condition: @escaping @Sendable (S.Model) -> Bool) async {
    await Task { [driver, commands, effectHandler] in
      await commands.drained()
      // A command before the close can still remove the failure.
      await driver.waitUntil { _ in true }
      effectHandler.updates.beginClose()
      await driver.post(last)
      await driver.waitUntil(condition)
      await effectHandler.end()
    }.value
    await end()
  }

  /// Ends the runtime at once.
  package func end() async {
    task.cancel()
    await task.value
  }
}

/// The initial value of a machine, its seed, and the journal of the run.
package struct MachineStart<M: Journaled>: Sendable {
  package let birth: M.Birth
  let journal: Journal<M>?
  private let seed: UInt64

  /// Creates a start without a journal.
  package init(_ birth: M.Birth) {
    self.birth = birth
    seed = .random(in: .min ... .max)
    journal = nil
  }

  /// Creates a start, with a journal if `path` is not `nil`.
  ///
  /// - Parameter notice: A function that is called once, with the reason, if journaling stops
  ///   later.
  /// - Throws: `.journal` if the journal cannot be created.
  package init(
    _ birth: M.Birth, journal path: String?, at wall: Timestamp,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(OpenError) {
    self.birth = birth
    seed = .random(in: .min ... .max)
    guard let path else {
      journal = nil
      return
    }
    let header = JournalHeader<M>(birth: birth, seed: seed, startedAt: wall)
    journal = try await OpenError.wrapping(OpenError.journal) { () throws(JournalError) in
      try await Journal(path: path, header: header, notice: notice)
    }
  }

  var machine: M { M(birth, seed: seed) }
}

/// A sink that posts inputs to a driver. Closing it breaks the retain cycle between the driver and
/// the effect handler.
package final class InputSink<M: Journaled>: Sendable {
  private let driver = Mutex<Driver<M>?>(nil)

  /// Creates a sink that drops inputs until it is opened.
  package init() {}

  /// Sets the driver to which inputs are posted.
  func open(to driver: Driver<M>) {
    self.driver.withLock { $0 = driver }
  }

  func close() {
    driver.withLock { $0 = nil }
  }

  /// Returns a function that writes notes about the connection of an attempt into the journal;
  /// `nil` if no journal is written.
  package func notes(of attempt: AttemptID) -> (@Sendable (ConnectionNote) -> Void)? {
    driver.withLock(\.self)?.notes(of: attempt)
  }

  /// Posts inputs in order, waiting while the driver's inbox is full.
  ///
  /// Do not await this call from code that the driver waits for. Only the driver can make room in
  /// the inbox, so such a call could deadlock.
  package func post(_ inputs: [M.Input]) async {
    guard let driver = driver.withLock(\.self) else { return }
    await driver.post(contentsOf: inputs)
  }
}
