public import HealthRelay
import HoldfastSocket
public import LinkCore
public import LinkHealth
public import LinkRuntime
public import LinkWire

/// A short exchange with the backend that answers the queued questions from the background.
///
///     let pull = HealthPull(configuration, token: token, environment: environment)
///     let report = await pull.run()       // from a push or a background task
///
/// The token is the resume token of the last connection. A run ends within its budget, whatever the
/// network does, and at once when its task is cancelled. Runs may be repeated at any time, since
/// the backend recognizes repeated answers.
public struct HealthPull: Sendable {
  /// Returns the answer to one question. Its task is cancelled when the time is up.
  public typealias Answering =
    @Sendable (RelayRequestID, HealthQuestion) async -> HealthObject

  /// The limits of an answer: the size that can be sent within the budget at 100 KB a second.
  ///
  /// A longer answer is truncated and marked as such.
  private static let limits = AnswerLimits(maxBytes: 1 << 20)

  let api: PullAPI
  private let clock: any LinkClock
  private let answer: Answering

  /// Creates a pull that answers from the health store, like a relay with this configuration.
  ///
  /// - Parameter token: The model's `resume` of a running relay, or the token in a `ResumeFile`.
  public init(_ configuration: RelayConfiguration, token: Secret, environment: RelayEnvironment) {
    let (zone, watch) = (configuration.zone, configuration.watch)
    let (store, clock) = (environment.store, environment.clock)
    self.init(
      server: configuration.server, token: token.text, http: environment.network, clock: clock
    ) { id, question in
      let answer = await RelayAnswer.make(
        question, zone: zone, now: clock.wall, limits: Self.limits, from: store)
      if !Task.isCancelled { watch?(id, answer.object) }
      return answer.object
    }
  }

  /// Creates a pull that answers with a function of the app.
  ///
  /// - Parameters:
  ///   - server: The server's URL: `http` or `https`, host and port; a path is kept as a prefix.
  ///   - token: The resume token, which is secret.
  public init(
    server: String, token: String, http: any HTTPClient, clock: any LinkClock = BootClock(),
    answer: @escaping Answering
  ) {
    api = PullAPI(server: server, token: token, http: http)
    self.clock = clock
    self.answer = answer
  }

  /// Leases questions and answers them.
  ///
  /// - Parameter budget: The time limit of the run, 25 s by docs/seeds/000.md. A push gives an app
  ///   about 30 s.
  public func run(budget: Duration = .seconds(25)) async -> PullReport {
    let runtime = MachineRuntime(
      MachineStart(PullSettings(budget: budget)), PullEffectHandler(api, answer), clock: clock,
      first: [.begin])
    // A cancelled task could not report the cancellation, so the run has a task of its own.
    let pulling = Task {
      let report = await runtime.effectHandler.updates.next()
      await runtime.end()
      return report ?? PullReport(ending: .cancelled)
    }
    return await withTaskCancellationHandler {
      await pulling.value
    } onCancel: {
      runtime.command(.cancel)
    }
  }

  /// Registers the address that wakes this phone by a push.
  ///
  /// - Throws: The failure of the exchange; `.http` with 401 if the token has expired.
  public func register(_ address: PushAddress) async throws(LinkFailure) {
    try await api.send("/relay/push", address.encode(), within: .seconds(10))
  }
}

extension HealthPull {
  /// Ends the pairings of an order, by default none, and returns the assistants that remain paired.
  ///
  /// - Throws: The failure of the exchange; `.http` with 401 if the token has expired, and with 404
  ///   if the backend has no such list or no assistant has the id.
  public func assistants(
    _ order: AssistantsOrder = .list
  ) async throws(LinkFailure) -> PairedAssistants {
    try await api.assistants(order)
  }
}
