public import HoldfastHealthRelay
import HoldfastSocket
public import HoldfastCore
public import HoldfastHealth
public import HoldfastPorts
public import HoldfastWire

/// A short exchange with the backend that answers queued questions while the app is in the
/// background.
///
///     let pull = HealthPull(configuration, token: token, environment: environment)
///     let report = await pull.run()       // from a push or a background task
///
/// The token is the resume token of the last connection. A run always ends within its budget, and
/// ends immediately when its task is cancelled. Runs may be repeated at any time, because the
/// backend recognizes repeated answers.
public struct HealthPull: Sendable {
  /// A closure that returns the answer to one question. Its task is cancelled when the time limit
  /// has passed.
  public typealias Answering =
    @Sendable (RelayRequestID, HealthQuestion) async -> HealthObject

  /// The limits of an answer. The maximum size can be sent within the budget at 100 KB a second.
  ///
  /// A longer answer is truncated and marked as such.
  private static let limits = AnswerLimits(maxBytes: 1 << 20)

  let api: PullAPI
  private let clock: any LinkClock
  private let answer: Answering

  /// Creates a pull that answers from the health store, as a relay with this configuration does.
  ///
  /// - Parameter token: The resume token of a running relay, or the token in a `ResumeFile`.
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

  /// Creates a pull that gets each answer from a closure that the app provides.
  ///
  /// - Parameters:
  ///   - server: The server's URL: `http` or `https`, host and port. A path is used as a prefix.
  ///   - token: The resume token. It is a secret.
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
  /// - Parameter budget: The time limit of the run. The default of 25 s is defined in
  ///   docs/seeds/000.md. A push gives an app about 30 s.
  public func run(budget: Duration = .seconds(25)) async -> PullReport {
    let runtime = MachineRuntime(
      MachineStart(PullSettings(budget: budget)), PullEffectHandler(api, answer), clock: clock,
      first: [.begin])
    // The run has its own task, because a cancelled task could not report the cancellation.
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

  /// Registers the address for pushes that wake this phone.
  ///
  /// - Throws: The failure of the exchange. It is `.http` with 401 if the token has expired.
  public func register(_ address: PushAddress) async throws(LinkFailure) {
    try await api.send("/relay/push", address.encode(), within: .seconds(10))
  }
}

extension HealthPull {
  /// Ends the pairings that an order specifies, and returns the assistants that are still paired.
  ///
  /// - Throws: The failure of the exchange. It is `.http` with 401 if the token has expired, and
  ///   with 404 if the backend does not support this or no assistant has the id.
  public func assistants(
    _ order: AssistantsOrder = .list
  ) async throws(LinkFailure) -> PairedAssistants {
    try await api.assistants(order)
  }
}
