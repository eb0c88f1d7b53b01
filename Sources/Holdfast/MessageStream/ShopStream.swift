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
  private let updates: UpdateChannel
  private let clock: any LinkClock
  private let running: Task<Void, Never>
  private let onClose: @Sendable () async -> Void

  init(
    _ configuration: StreamConfiguration, environment: StreamEnvironment,
    journal: Journal<StreamModel>?,
    settings: StreamSettings, seed: UInt64, onClose: @escaping @Sendable () async -> Void
  ) async {
    let clock = environment.clock
    let updates = UpdateChannel()
    let vault = TokenVault(
      environment.tokens, limit: configuration.policy.gate.refreshTimeout, clock: clock)
    let shell = StreamShell(
      configuration, network: environment.network, store: environment.store, vault: vault,
      updates: updates)
    let driver = Driver(
      machine: StreamModel(settings: settings, seed: seed), clock: clock, journal: journal
    ) { effect, _ in
      await shell.perform(effect)
    }
    await shell.connect { await driver.post($0) }
    await driver.post(.realtime(configuration.realtime))
    await driver.post(.open(at: clock.wall))
    self.configuration = configuration
    self.driver = driver
    self.shell = shell
    self.updates = updates
    self.clock = clock
    self.onClose = onClose
    running = Task {
      await Self.run(driver, shell, environment)
      await journal?.close()
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
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await driver.run() }
      group.addTask {
        for await change in environment.reachability.changes() {
          await shell.forgetConnections()
          await driver.post(.reachability(change))
        }
      }
      group.addTask {
        for await event in environment.lifecycle.changes() {
          await shell.forgetConnections()
          if let input = input(event, at: environment.clock.wall) { await driver.post(input) }
        }
      }
      await group.waitForAll()
    }
    await shell.stop()
  }

  /// Sleep is a background that the user did not choose.
  private static func input(_ event: LifecycleEvent, at wall: Timestamp) -> StreamModel.Input? {
    switch event {
    case .foreground, .didWake: .lifecycle(.foreground, at: wall)
    case .background, .willSleep: .lifecycle(.background, at: wall)
    case .terminate: nil
    }
  }

  /// The one iterator that a stream serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: updates) }

  /// Hands out updates as they come.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: UpdateChannel

    /// The next update; `nil` when the stream is closed.
    public mutating func next() async -> StreamUpdate? { await updates.next() }

    /// The next update; `nil` when the stream is closed.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> StreamUpdate? {
      await updates.next()
    }
  }

  /// Sends a message; it is kept until the server has it, and shown at once as an outbox update.
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
    await driver.post(.credentials(.cleared))
  }

  /// How things are between two steps.
  public var snapshot: StreamModel {
    get async { await driver.snapshot }
  }

  /// Returns when everything that the server had is stored and shown, or the stream has ended.
  public func whole() async { await driver.settle(\.isWhole) }

  /// Closes the socket with 1000 and ends the sequence; what was accepted is stored.
  public func close() async {
    updates.release()
    await driver.post(.close)
    await driver.settle(\.isStored)
    await shell.stop()
    running.cancel()
    await running.value
    await onClose()
  }

  /// A command never waits: an app that reads slowly must still be able to act.
  private func command(_ input: StreamModel.Input) {
    if driver.tryPost(input) { return }
    Task { [driver] in await driver.post(input) }
  }
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
