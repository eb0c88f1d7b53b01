public import HoldfastHealthRelay
public import HoldfastSocket
public import HoldfastCore

/// The relay of a phone, through which paired assistants read health data. It is an asynchronous
/// sequence of updates.
///
///     let relay = try await Relay(configuration, environment: environment)
///     relay.start()
///     for await update in relay {
///       if case .pair(let pair) = update { show(pair.word.text, pair.code.text) }
///     }
///
/// Commands never wait and never fail. Their results are updates. Only one loop may read a relay.
/// End the relay with `close()`. Deinitialization also closes the socket.
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
  /// - Throws: `JournalError` if the journal cannot be created.
  public init(
    _ configuration: RelayConfiguration, environment: RelayEnvironment,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(JournalError) {
    let start = try await MachineStart<RelayModel>(
      RelayModel.Birth(configuration.settings), journal: configuration.journal,
      at: environment.clock.wall, notice: notice)
    self.configuration = configuration
    runtime = MachineRuntime(
      start, RelayEffectHandler(configuration, environment), clock: environment.clock,
      device: Device(
        reachability: environment.reachability, lifecycle: environment.lifecycle,
        network: environment.network, clock: environment.clock))
  }

  /// The iterator of a relay's updates.
  public typealias Iterator = UpdateIterator<RelayUpdate>

  /// Returns the iterator of the updates. A relay has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Connects, or connects again after an error.
  public func start() { runtime.command(.start) }

  /// Uses the token that an earlier process stored, so that the phone stays paired.
  ///
  /// Call this method before `start`. If the token is unknown to the backend, a new pairing starts.
  public func resume(_ token: Secret) { runtime.command(.resume(token)) }

  /// Ends the connection and the pairing.
  public func stop() { runtime.command(.stop) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func turn(_ lifecycle: AppLifecycle) {
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
  /// The call runs to completion even if the calling task is cancelled.
  public func close() async { await runtime.close(.stop) { $0.status.state == .idle } }
}
