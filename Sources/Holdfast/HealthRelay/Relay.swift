public import HealthRelay
public import LinkCore
public import LinkRuntime

/// A phone that an assistant may ask for health data: iterate it for what happens.
///
///     let relay = try await Relay(configuration, environment: environment)
///     relay.start()
///     for await update in relay {
///       if case .pair(let pair) = update { show(pair.word.text, pair.code.text) }
///     }
///
/// Commands never wait and never fail; what becomes of them comes as updates. One loop reads it.
/// End it with `close()`; dropping it closes the socket too.
public final class Relay: Sendable, AsyncSequence {
  /// What happens, one thing at a time.
  public typealias Element = RelayUpdate

  /// What it was made with.
  public let configuration: RelayConfiguration
  private let driver: Driver<RelayModel>
  private let shell: RelayShell
  private let updates: UpdateChannel<RelayUpdate>
  private let commands: CommandLane<RelayModel>
  private let running: Task<Void, Never>

  /// Makes a relay that is idle.
  ///
  /// - Parameter notice: told once if the journal has to be given up.
  /// - Throws: when the journal cannot be made.
  public init(
    _ configuration: RelayConfiguration, environment: RelayEnvironment,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(JournalError) {
    let clock = environment.clock
    let updates = UpdateChannel(crowd: Self.crowd)
    var generator = SystemRandomNumberGenerator()
    let seed = generator.next()
    let journal = try await Self.journal(configuration, seed: seed, clock, notice)
    let shell = RelayShell(configuration, environment: environment, updates: updates)
    let driver = Driver(
      machine: RelayModel(settings: configuration.settings, seed: seed), clock: clock,
      journal: journal
    ) { effect, _ in
      await shell.perform(effect)
    }
    await shell.connect { await driver.post(contentsOf: $0) }
    self.configuration = configuration
    self.driver = driver
    self.shell = shell
    self.updates = updates
    commands = CommandLane(driver)
    running = Task {
      await driver.run(
        on: (environment.reachability, environment.lifecycle),
        isSuspect: { await environment.network.forgetConnections() },
        input: {
          switch $0 {
          case .reachability(let change): .reachability(change)
          case .lifecycle(let lifecycle): .lifecycle(lifecycle)
          case .woke: .woke
          case .again: .start
          }
        })
      await shell.stop()
      await journal?.close()
    }
  }

  deinit {
    running.cancel()
    updates.end()
  }

  private static func journal(
    _ configuration: RelayConfiguration, seed: UInt64, _ clock: any LinkClock,
    _ notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) -> Journal<RelayModel>? {
    guard let path = configuration.journal else { return nil }
    let settings = configuration.settings
    let header = JournalHeader(
      machine: RelayModel.journalName, policy: settings.policy, seed: seed, startedAt: clock.wall,
      extra: ["notification": settings.hasNotification ? "true" : "false"])
    return try await Journal(path: path, header: header, notice: notice)
  }

  /// While an app reads nothing the newest status and the newest pair stand for those before them,
  /// and nothing else is kept.
  @Sendable private static func crowd(_ waiting: inout [RelayUpdate], _ next: RelayUpdate) {
    switch next {
    case .ended, .problem: return
    case .status: waiting.removeAll { if case .status = $0 { true } else { false } }
    case .pair: waiting.removeAll { if case .pair = $0 { true } else { false } }
    }
    if waiting.count == UpdateChannel<RelayUpdate>.limit { waiting.removeFirst() }
    waiting.append(next)
  }

  /// The one iterator that a relay serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: updates) }

  /// Hands out updates as they come.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: UpdateChannel<RelayUpdate>

    /// The next update; `nil` when the relay is closed.
    public mutating func next() async -> RelayUpdate? { await updates.next() }

    /// The next update; `nil` when the relay is closed.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> RelayUpdate? {
      await updates.next()
    }
  }

  /// Connects; also after an error.
  public func start() { commands.put(.start) }

  /// Ends the connection and the pairing.
  public func stop() { commands.put(.stop) }

  /// Tells it whether a person looks, where no lifecycle monitor does.
  public func turn(_ lifecycle: Lifecycle) { commands.put(.lifecycle(lifecycle)) }

  /// How things are between two steps.
  public var snapshot: RelayModel {
    get async { await driver.snapshot }
  }

  /// Returns when all commands given before were taken and the model is as `isSettled` says, or the
  /// relay is closed, or the task is cancelled.
  public func settled(_ isSettled: @escaping @Sendable (RelayModel) -> Bool) async {
    await commands.drained()
    await driver.settle(isSettled)
  }

  /// Stops it, takes the notification away and ends the sequence.
  ///
  /// The cancellation of who calls it cuts nothing short.
  public func close() async {
    let ending = Task { [driver, shell, commands] in
      await commands.drained()
      await driver.post(.stop)
      await driver.settle { $0.status.state == .idle }
      await shell.stop()
    }
    await ending.value
    running.cancel()
    await running.value
  }
}

extension RelayModel {
  /// How journals name this machine.
  public static let journalName = "health-relay"

  /// Makes the machine that a journal's header describes.
  ///
  /// - Throws: `JournalMismatch` when the journal is of another machine.
  public init(_ header: JournalHeader) throws(JournalMismatch) {
    guard header.machine == Self.journalName else {
      throw JournalMismatch(machine: header.machine)
    }
    self.init(
      settings: RelaySettings(
        policy: header.policy, hasNotification: header.extra["notification"] == "true"),
      seed: header.seed)
  }
}
