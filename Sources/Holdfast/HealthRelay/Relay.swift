public import HoldfastCore
import HoldfastFeaturePorts
public import HoldfastHealthRelay
import HoldfastPorts
public import HoldfastSocket

/// The relay of a phone, through which paired assistants read health data. It is an asynchronous
/// sequence of updates.
///
///     let relay = try await Relay(configuration)
///     relay.start()
///     for await update in relay {
///       if case .pair(let pair) = update { show(pair.word.text, pair.code.text) }
///     }
///     if let failure = relay.failure { report(failure) }
///
/// Commands never wait and never fail. Their results are updates. The loop ends when the relay is
/// closed, or when it has failed and no retry can help; after another `start()`, a new loop
/// continues. Only one loop may read a relay. End the relay with `close()`. Deinitialization also
/// closes the socket.
public final class Relay: Sendable, AsyncSequence {
  /// An update of the relay.
  public typealias Element = RelayUpdate

  /// The configuration that the relay was created with.
  public let configuration: RelayConfiguration
  private let runtime: MachineRuntime<RelayEffectHandler>

  /// Creates an idle relay.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `.configuration` if the server's URL is not valid or needs `allowsPlaintext`;
  ///   `.store` if the health data cannot be opened; `.journal` if the journal cannot be created;
  ///   `.network` if the device has run out of descriptors or threads.
  public init(
    _ configuration: RelayConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) {
    let (ports, storage) = (configuration.ports, configuration.storage)
    let (host, network) = try configuration.open()
    let store = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
      try await storage.open()
    }
    let start = try await storage.starting(with: store) { () throws(OpenError) in
      try await MachineStart<RelayModel>(
        RelayModel.Birth(configuration.settings), journal: configuration.journal,
        at: ports.clock.wall, notice: notice)
    }
    self.configuration = configuration
    runtime = MachineRuntime(
      start, RelayEffectHandler(configuration, network, store), clock: ports.clock,
      device: Device(
        reachability: ports.reachability(of: host), lifecycle: ports.lifecycle, network: network,
        clock: ports.clock),
      onEnd: storage.closing(store))
  }

  /// The iterator of a relay's updates.
  public typealias Iterator = UpdateIterator<RelayUpdate>

  /// Returns the iterator of the updates. A relay has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// The updates, which do not end when the relay has failed.
  package var lastingUpdates: LastingUpdates<RelayUpdate> {
    LastingUpdates(runtime.effectHandler.updates)
  }

  /// The failure that ended the updates, or `nil` if there is none.
  ///
  /// No retry can cure it. Only the user can start the relay again.
  public var failure: LinkFailure? { runtime.effectHandler.updates.failure }

  /// Connects, or connects again after an error.
  public func start() { runtime.restart(.start) }

  /// Uses the token that an earlier process stored, so that the phone stays paired.
  ///
  /// Call this method before `start`. If the token is unknown to the backend, a new pairing starts.
  public func resume(_ token: Secret) { runtime.command(.resume(token)) }

  /// Ends the connection and the pairing.
  public func stop() { runtime.command(.stop) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// The token of the pairing, for `resume(_:)` in the next run, or `nil` if there is no pairing.
  public var resumeToken: Secret? {
    get async { await runtime.snapshot.resume }
  }

  /// A snapshot of the model between two steps.
  package var snapshot: RelayModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all earlier commands have been processed and `condition` holds.
  ///
  /// Also returns when the relay is closed or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (RelayModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Stops the relay, removes the notification and ends the sequence.
  ///
  /// A store that the relay opened is closed. The call runs to completion even if the calling task
  /// is cancelled.
  public func close() async { await runtime.close(.stop) { $0.status.state == .idle } }
}
