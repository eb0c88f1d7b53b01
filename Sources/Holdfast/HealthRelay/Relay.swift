public import HealthRelay
public import HoldfastSocket
public import LinkCore
public import LinkDriver

/// A phone whose health data a paired assistant may ask for; an asynchronous sequence of updates.
///
///     let relay = try await Relay(configuration, environment: environment)
///     relay.start()
///     for await update in relay {
///       if case .pair(let pair) = update { show(pair.word.text, pair.code.text) }
///     }
///
/// Commands never wait and never fail; their results are updates. One loop may read it. End it with
/// `close()`; deinitialization closes the socket too.
public final class Relay: Sendable, AsyncSequence {
  /// One update.
  public typealias Element = RelayUpdate

  /// The options that it was made with.
  public let configuration: RelayConfiguration
  private let running: Running<RelayShell>

  /// Makes a relay that is idle.
  ///
  /// - Parameter notice: called once if journaling is turned off later, with the reason.
  /// - Throws: if the journal cannot be made.
  public init(
    _ configuration: RelayConfiguration, environment: RelayEnvironment,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(JournalError) {
    let start = try await MachineStart<RelayModel>(
      RelayModel.Birth(configuration.settings), journal: configuration.journal,
      at: environment.clock.wall, notice: notice)
    self.configuration = configuration
    running = Running(
      start, RelayShell(configuration, environment), clock: environment.clock,
      device: Device(
        reachability: environment.reachability, lifecycle: environment.lifecycle,
        network: environment.network, clock: environment.clock))
  }

  /// The iterator of a relay's updates.
  public typealias Iterator = UpdateIterator<RelayUpdate>

  /// Returns the one iterator that a relay serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: running.shell.updates) }

  /// Connects; also after an error.
  public func start() { running.command(.start) }

  /// Uses the token that an earlier process kept, so that the phone stays paired; call it before
  /// `start`. A backend that does not know the token begins a new pairing.
  public func resume(_ token: Secret) { running.command(.resume(token)) }

  /// Ends the connection and the pairing.
  public func stop() { running.command(.stop) }

  /// Reports whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) {
    running.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// The token of the pairing, to be kept for `resume(_:)` in the next run; `nil` without one.
  public var resumeToken: Secret? {
    get async { await running.snapshot.resume }
  }

  /// The model between two steps.
  package var snapshot: RelayModel {
    get async { await running.snapshot }
  }

  /// Returns when all commands given before were taken and `isSettled` holds, or the relay is
  /// closed, or the task is cancelled.
  package func settled(_ isSettled: @escaping @Sendable (RelayModel) -> Bool) async {
    await running.settled(isSettled)
  }

  /// Stops it, removes the notification and ends the sequence.
  ///
  /// Runs to completion even if the calling task is cancelled.
  public func close() async { await running.close(.stop) { $0.status.state == .idle } }
}
