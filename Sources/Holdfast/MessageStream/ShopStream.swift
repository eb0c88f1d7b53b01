public import HoldfastSocket
public import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastPorts
public import HoldfastStorage
public import HoldfastWire
public import HoldfastMessageStream

/// The stream of a shop's messages. It is an asynchronous sequence of updates and accepts the
/// user's commands.
///
///     let stream = try await holdfast.open(configuration, tokens: tokens)
///     for await update in stream {
///       if case .messages(let new, via: _) = update { show(new) }
///     }
///
/// Commands never wait and never fail. Their results are updates. Only one loop may read a stream.
/// End the stream with `close()`. Deinitialization also closes the socket.
public final class ShopStream: Sendable, AsyncSequence {
  /// An update of the stream.
  public typealias Element = StreamUpdate

  /// The configuration that the stream was opened with.
  public let configuration: StreamConfiguration
  private let runtime: MachineRuntime<StreamEffectHandler>
  private let clock: any LinkClock

  init(
    _ configuration: StreamConfiguration, environment: StreamEnvironment,
    start: MachineStart<StreamModel>, onEnd: @escaping @Sendable () async -> Void
  ) {
    let clock = environment.clock
    self.configuration = configuration
    self.clock = clock
    runtime = MachineRuntime(
      start, StreamEffectHandler(configuration, environment), clock: clock,
      device: Device(
        reachability: environment.reachability, lifecycle: environment.lifecycle,
        network: environment.network, clock: clock),
      first: [.realtime(configuration.realtime), .open(at: clock.wall)], onEnd: onEnd)
  }

  /// The iterator of a stream's updates.
  public typealias Iterator = UpdateIterator<StreamUpdate>

  /// Returns the iterator of the updates. A stream has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Sends a message. The message is kept until the server has stored it.
  ///
  /// An outbox update reports the message once it is stored on this device.
  public func send(_ text: String, parent: MessageID? = nil) {
    runtime.command(.send(text: text, parent: parent, at: clock.wall))
  }

  /// Sends a failed message again.
  public func retry(_ id: UUID128) { runtime.command(.retry(id)) }

  /// Discards an unsent message.
  public func discard(_ id: UUID128) { runtime.command(.discard(id)) }

  /// Fetches new messages, for example after a pull-to-refresh gesture.
  public func refresh() { runtime.command(.refresh) }

  /// Loads the next page of older messages. A history update follows.
  public func loadOlder() { runtime.command(.loadOlder) }

  /// Turns real-time messaging on or off. While it is off, the stream polls.
  public func setRealtime(_ isOn: Bool) { runtime.command(.realtime(isOn)) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func turn(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle)), at: clock.wall))
  }

  /// Signs out. The stream forgets the token and does not connect until it is opened again.
  public func signOut() async {
    await runtime.effectHandler.forgetToken()
    await runtime.post(.credentials(.cleared))
  }

  /// A snapshot of the model between two steps.
  package var snapshot: StreamModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all messages on the server have been stored and reported.
  ///
  /// Also returns when the stream has ended or the task is cancelled.
  public func whole() async { await waitUntil(\.isWhole) }

  /// Returns when all earlier commands have been processed and `condition` holds.
  ///
  /// Also returns when the stream has ended or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (StreamModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Returns the durable consumer with a name. It is added to the store if it is missing.
  ///
  /// - Parameter start: The first delivery of a new consumer. An existing consumer continues after
  ///   its last acknowledgement.
  /// - Throws: `.other` if the start is a position in an epoch without stored messages, or the
  ///   failure of the store.
  public func consumer(
    _ name: ConsumerName, from start: ConsumerStart = .usual
  ) async throws(StoreFailure) -> ShopConsumer {
    let effectHandler = runtime.effectHandler
    return try await ShopConsumer(
      name, of: configuration.shop, in: effectHandler.store, from: start,
      signal: effectHandler.signals.add())
  }

  /// Stores all accepted commands, closes the socket with 1000 and ends the sequence.
  ///
  /// The call runs to completion even if the calling task is cancelled.
  public func close() async { await runtime.close(.close, until: \.isStored) }
}

/// The ports of a stream. Each port is an adapter, or a fake from the test kit.
public struct StreamEnvironment: Sendable {
  /// The network that opens sockets and sends requests.
  public var network: any SocketDialer & HTTPClient
  /// The store of messages, the cursor and the outbox.
  public var store: any TimelineStore
  /// The monitor that reports reachability and the network path.
  public var reachability: any ReachabilityMonitor
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  public var lifecycle: any LifecycleMonitor
  /// The source of tokens.
  public var tokens: any TokenSource
  /// The clock of the stream.
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
