public import HoldfastSocket
public import LinkCore
public import LinkRuntime
public import LinkStorage
public import LinkWire
public import MessageStream

/// The messages of one shop: an asynchronous sequence of updates that takes the user's commands.
///
///     let stream = try await holdfast.open(configuration, tokens: tokens)
///     for await update in stream {
///       if case .messages(let new, via: _) = update { show(new) }
///     }
///
/// Commands never wait and never fail; their results are updates. One loop may read a stream. End
/// it with `close()`; deinitialization closes the socket too.
public final class ShopStream: Sendable, AsyncSequence {
  /// One update.
  public typealias Element = StreamUpdate

  /// The options that it was opened with.
  public let configuration: StreamConfiguration
  private let running: Running<StreamShell>
  private let clock: any LinkClock

  init(
    _ configuration: StreamConfiguration, environment: StreamEnvironment,
    start: MachineStart<StreamModel>, onEnd: @escaping @Sendable () async -> Void
  ) {
    let clock = environment.clock
    self.configuration = configuration
    self.clock = clock
    running = Running(
      start, StreamShell(configuration, environment), clock: clock,
      device: Device(
        reachability: environment.reachability, lifecycle: environment.lifecycle,
        network: environment.network, clock: clock),
      first: [.realtime(configuration.realtime), .open(at: clock.wall)], onEnd: onEnd)
  }

  /// The iterator of a stream's updates.
  public typealias Iterator = UpdateIterator<StreamUpdate>

  /// Returns the one iterator that a stream serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: running.shell.updates) }

  /// Sends a message; it is kept until the server has it, and reported as an outbox update once
  /// stored.
  public func send(_ text: String, parent: MessageID? = nil) {
    running.command(.send(text: text, parent: parent, at: clock.wall))
  }

  /// Tries a failed message again.
  public func retry(_ id: UUID128) { running.command(.retry(id)) }

  /// Discards a message that was not sent.
  public func discard(_ id: UUID128) { running.command(.discard(id)) }

  /// Fetches what is new, as for pull to refresh.
  public func refresh() { running.command(.refresh) }

  /// Loads the next page of older messages; a history update follows it.
  public func loadOlder() { running.command(.loadOlder) }

  /// Switches real-time messaging on, or off to polling.
  public func setRealtime(_ isOn: Bool) { running.command(.realtime(isOn)) }

  /// Reports whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) {
    running.command(.link(.device(.lifecycle(lifecycle)), at: clock.wall))
  }

  /// Signs out: the token is forgotten, and nothing more is tried until the stream is opened anew.
  public func signOut() async {
    await running.shell.forgetToken()
    await running.post(.credentials(.cleared))
  }

  /// The model between two steps.
  package var snapshot: StreamModel {
    get async { await running.snapshot }
  }

  /// Returns when everything that the server had is stored and shown, or the stream has ended, or
  /// the task is cancelled.
  public func whole() async { await settled(\.isWhole) }

  /// Returns when all commands given before were taken and `isSettled` holds, or the stream has
  /// ended, or the task is cancelled.
  package func settled(_ isSettled: @escaping @Sendable (StreamModel) -> Bool) async {
    await running.settled(isSettled)
  }

  /// Returns the durable consumer of this name, which is added to the store if it is not there.
  ///
  /// - Parameter start: what a new consumer gets first; a known one continues
  ///   behind what it acknowledged.
  /// - Throws: `.other` for a start behind a position of an epoch that no stored message has; the
  ///   store's failure.
  public func consumer(
    _ name: ConsumerName, from start: ConsumerStart = .usual
  ) async throws(StoreFailure) -> ShopConsumer {
    let shell = running.shell
    return try await ShopConsumer(
      name, of: configuration.shop, in: shell.store, from: start, bell: shell.bells.add())
  }

  /// Closes the socket with 1000 and ends the sequence; what was accepted is stored.
  ///
  /// Runs to completion even if the calling task is cancelled.
  public func close() async { await running.close(.close, until: \.isStored) }
}

/// The ports of a stream, each a real adapter or one of the test kit.
public struct StreamEnvironment: Sendable {
  /// Opens sockets and makes requests.
  public var network: any SocketDialer & HTTPClient
  /// Stores messages, cursor and outbox.
  public var store: any TimelineStore
  /// Reports whether, and over which network path, the server can be reached.
  public var reachability: any ReachabilityMonitor
  /// Reports whether the app is in front, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor
  /// The source of tokens.
  public var tokens: any TokenSource
  /// Time and waiting.
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
