package import LinkCore
package import LinkDriver
import Synchronization

/// The actor that carries out the effects of one feature.
///
/// It maps effects to calls of this module and of ports, and their results to inputs.
package protocol EffectHandler: Actor {
  associatedtype Model: Journaled
  associatedtype Update: Sendable

  /// The sink that posts the shell's inputs.
  nonisolated var sink: InputSink<Model> { get }
  /// The channel that delivers the shell's updates to the app.
  nonisolated var updates: UpdateChannel<Update> { get }

  /// Carries out one effect. The driver waits for it, so it must return quickly.
  func perform(_ effect: Model.Effect) async

  /// Ends the work in progress. It may be called more than once.
  func stop() async
}

extension EffectHandler {
  /// Stops the shell, closes its sink, and ends the updates.
  fileprivate nonisolated func end() async {
    sink.close()
    await stop()
    updates.end()
  }
}

/// A running feature: its driver, shell, device monitors, commands and updates.
package final class MachineRuntime<S: EffectHandler>: Sendable {
  package typealias Input = S.Model.Input

  package let effectHandler: S
  private let driver: Driver<S.Model>
  private let commands: CommandQueue<S.Model>
  private let task: Task<Void, Never>

  /// Starts the driver.
  ///
  /// - Parameters:
  ///   - device: The monitors of the device, whose initial state is the first input; `nil` for
  ///     none.
  ///   - inputs: The machine's next inputs.
  ///   - onEnd: Runs when everything has ended, including the journal.
  package init(
    _ start: MachineStart<S.Model>, _ effectHandler: S, clock: any LinkClock,
    device: Device<Input>? = nil, first inputs: [Input] = [],
    onEnd: @escaping @Sendable () async -> Void = {}
  ) {
    let driver = Driver(machine: start.machine, clock: clock, journal: start.journal) {
      effect, _ in await effectHandler.perform(effect)
    }
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

  /// Runs the driver and reports the device to it until the task is cancelled.
  private static func run(_ driver: Driver<S.Model>, _ device: Device<Input>?) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await driver.run() }
      if let device {
        group.addTask { await device.reportReachability { await driver.post($0) } }
        group.addTask { await device.reportLifecycle { await driver.post($0) } }
      }
      await group.waitForAll()
    }
  }

  /// Passes a command to the machine without waiting, in the order of the calls.
  package func command(_ input: Input) { commands.put(input) }

  /// Posts an input after all earlier commands.
  ///
  /// The call runs to completion even if the calling task is cancelled.
  package func post(_ input: Input) async {
    await Task { [driver, commands] in
      await commands.drained()
      await driver.post(input)
    }.value
  }

  /// A snapshot of the machine between two steps.
  package var snapshot: S.Model {
    get async { await driver.snapshot }
  }

  /// Returns when all earlier commands were processed and `condition` holds.
  ///
  /// It also returns when the driver has ended or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (S.Model) -> Bool) async {
    await commands.drained()
    await driver.waitUntil(condition)
  }

  /// Posts the last input, waits until `condition` holds, and ends everything.
  ///
  /// The call runs to completion even if the calling task is cancelled.
  package func close(_ last: Input, until condition: @escaping @Sendable (S.Model) -> Bool) async {
    await Task { [driver, commands, effectHandler] in
      await commands.drained()
      await driver.post(last)
      await driver.waitUntil(condition)
      await effectHandler.end()
    }.value
    await end()
  }

  /// Ends everything at once.
  package func end() async {
    task.cancel()
    await task.value
  }
}

/// The start of a machine: its initial value, its seed, and the journal of the run.
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

  /// Creates a start that is journaled if there is a path.
  ///
  /// - Parameter notice: Called once if journaling is turned off later, with the reason.
  /// - Throws: `JournalError` if the journal cannot be created.
  package init(
    _ birth: M.Birth, journal path: String?, at wall: Timestamp,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) {
    self.birth = birth
    seed = .random(in: .min ... .max)
    guard let path else {
      journal = nil
      return
    }
    journal = try await Journal(
      path: path, header: JournalHeader(birth: birth, seed: seed, startedAt: wall), notice: notice)
  }

  var machine: M { M(birth, seed: seed) }
}

/// A sink that posts inputs to the driver. Closing it breaks the retain cycle of driver and shell.
package final class InputSink<M: Journaled>: Sendable {
  private let driver = Mutex<Driver<M>?>(nil)

  /// Creates a sink that drops inputs until it is opened.
  package init() {}

  /// Sets the driver. Before this call and after `close`, inputs are dropped.
  func open(to driver: Driver<M>) {
    self.driver.withLock { $0 = driver }
  }

  func close() {
    driver.withLock { $0 = nil }
  }

  /// Posts inputs in order, and waits for room in the driver's inbox.
  ///
  /// Do not await the call where the driver waits for the caller, because only the driver can make
  /// room.
  package func post(_ inputs: [M.Input]) async {
    guard let driver = driver.withLock(\.self) else { return }
    await driver.post(contentsOf: inputs)
  }
}
