public import LinkCore
public import LinkRuntime
public import LinkWire
public import MessageStream

/// The messages of one shop: iterate it for what happens, tell it what the user does.
///
///     let stream = try await holdfast.open(configuration, tokens: tokens)
///     for await update in stream {
///       if case .messages(let new, via: _) = update { show(new) }
///     }
///
/// Commands never wait and never fail; what becomes of them comes as updates. One loop reads a
/// stream. End it with `close()`; dropping it closes the socket too.
public final class ShopStream: Sendable, AsyncSequence {
  /// What happens, one thing at a time.
  public typealias Element = StreamUpdate

  /// What it was opened with.
  public let configuration: StreamConfiguration
  private let driver: Driver<StreamModel>
  private let shell: StreamShell
  private let updates: UpdateChannel<StreamUpdate>
  private let commands: CommandLane<StreamModel>
  private let clock: any LinkClock
  private let running: Task<Void, Never>

  init(
    _ configuration: StreamConfiguration, environment: StreamEnvironment,
    journal: Journal<StreamModel>?,
    settings: StreamSettings, seed: UInt64, onClose: @escaping @Sendable () async -> Void
  ) async {
    let clock = environment.clock
    let updates = UpdateChannel(crowd: Self.crowd)
    let vault = TokenVault(
      environment.tokens, limit: configuration.policy.gate.refreshTimeout, clock: clock)
    let shell = StreamShell(
      configuration, network: environment.network, store: environment.store, vault: vault,
      updates: updates, clock: clock)
    let driver = Driver(
      machine: StreamModel(settings: settings, seed: seed), clock: clock, journal: journal
    ) { effect, _ in
      await shell.perform(effect)
    }
    await shell.connect { await driver.post(contentsOf: $0) }
    await driver.post(.realtime(configuration.realtime))
    await driver.post(.open(at: clock.wall))
    self.configuration = configuration
    self.driver = driver
    self.shell = shell
    self.updates = updates
    commands = CommandLane(driver)
    self.clock = clock
    running = Task {
      await Self.run(driver, shell, environment)
      await journal?.close()
      await onClose()
    }
  }

  deinit {
    running.cancel()
    updates.end()
  }

  /// Runs the driver and listens to the device until cancelled.
  private static func run(
    _ driver: Driver<StreamModel>, _ shell: StreamShell, _ environment: StreamEnvironment
  ) async {
    let clock = environment.clock
    await driver.run(
      on: (environment.reachability, environment.lifecycle),
      isSuspect: { await shell.forgetConnections() },
      input: {
        switch $0 {
        case .reachability(let change): .reachability(change)
        case .lifecycle(let lifecycle): .lifecycle(lifecycle, at: clock.wall)
        case .woke: .woke(at: clock.wall)
        case .again: .refresh
        }
      })
    await shell.stop()
  }

  /// While an app reads nothing a status replaces the one before it, and notices are dropped;
  /// messages do not come, since the model is told.
  @Sendable private static func crowd(_ waiting: inout [StreamUpdate], _ next: StreamUpdate) {
    switch (next, waiting.last) {
    case (.notice, _): return
    case (.status, .status): waiting.removeLast()
    case (.status, _), (.messages, _), (.edited, _), (.gap, _), (.gapClosed, _), (.outbox, _),
      (.outboxDone, _), (.history, _):
      break
    }
    waiting.append(next)
  }

  /// The one iterator that a stream serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: updates) }

  /// Hands out updates as they come.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: UpdateChannel<StreamUpdate>

    /// The next update; `nil` when the stream is closed.
    public mutating func next() async -> StreamUpdate? { await updates.next() }

    /// The next update; `nil` when the stream is closed.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> StreamUpdate? {
      await updates.next()
    }
  }

  /// Sends a message; kept until the server has it, and shown as an outbox update once stored.
  public func send(_ text: String, parent: MessageID? = nil) {
    command(.send(text: text, parent: parent, at: clock.wall))
  }

  /// Tries a failed message again.
  public func retry(_ id: UUID128) { command(.retry(id)) }

  /// Gives a message up that was not sent.
  public func discard(_ id: UUID128) { command(.discard(id)) }

  /// Pulled to refresh.
  public func refresh() { command(.refresh) }

  /// Shows the next page of older messages, ended by a history update.
  public func loadOlder() { command(.loadOlder) }

  /// Switches real-time messaging on, or off to polling.
  public func setRealtime(_ isOn: Bool) { command(.realtime(isOn)) }

  /// Tells it whether a person looks, where no lifecycle monitor does.
  public func turn(_ lifecycle: Lifecycle) { command(.lifecycle(lifecycle, at: clock.wall)) }

  /// Signs out: the token is forgotten, and nothing more is tried until the stream is opened anew.
  public func signOut() async {
    await shell.forgetToken()
    await Task { [driver, commands] in
      await commands.drained()
      await driver.post(.credentials(.cleared))
    }.value
  }

  /// How things are between two steps.
  public var snapshot: StreamModel {
    get async { await driver.snapshot }
  }

  /// Returns when everything that the server had is stored and shown, or the stream has ended, or
  /// the task is cancelled.
  public func whole() async { await settled(\.isWhole) }

  /// Returns when all commands given before were taken and the model is as `isSettled` says, or the
  /// stream has ended, or the task is cancelled.
  public func settled(_ isSettled: @escaping @Sendable (StreamModel) -> Bool) async {
    await commands.drained()
    await driver.settle(isSettled)
  }

  /// Closes the socket with 1000 and ends the sequence; what was accepted is stored.
  ///
  /// The cancellation of who calls it cuts nothing short.
  public func close() async {
    let ending = Task { [driver, shell, commands] in
      await commands.drained()
      await driver.post(.close)
      await driver.settle(\.isStored)
      await shell.stop()
    }
    await ending.value
    running.cancel()
    await running.value
  }

  private func command(_ input: StreamModel.Input) { commands.put(input) }
}

/// What a stream stands on: the ports, each a real adapter or one of the test kit.
public struct StreamEnvironment: Sendable {
  /// Opens sockets and makes requests.
  public var network: any SocketDialer & HTTPClient
  /// Keeps messages, cursor and outbox.
  public var store: any TimelineStore
  /// Tells whether and which way the server can be reached.
  public var reachability: any ReachabilityMonitor
  /// Tells whether a person looks, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor
  /// Gives tokens.
  public var tokens: any TokenSource
  /// The time.
  public var clock: any LinkClock

  public init(
    network: any SocketDialer & HTTPClient, store: any TimelineStore,
    reachability: any ReachabilityMonitor, lifecycle: any LifecycleMonitor,
    tokens: any TokenSource, clock: any LinkClock = BootClock()
  ) {
    self.network = network
    self.store = store
    self.reachability = reachability
    self.lifecycle = lifecycle
    self.tokens = tokens
    self.clock = clock
  }
}
