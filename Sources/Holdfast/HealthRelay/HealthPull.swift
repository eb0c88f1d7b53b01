public import HealthRelay
import HoldfastSocket
public import LinkCore
public import LinkHealth
public import LinkRuntime
public import LinkWire

/// A short exchange with the backend that answers the questions queued for a phone in background.
///
///     let pull = HealthPull(configuration, token: token, environment: environment)
///     let report = await pull.run()       // from a push or a background task
///
/// The token is the resume token of the last connection. A run ends within its budget, whatever the
/// network does, and at once when its task is cancelled. Runs may be repeated at any time: the
/// backend recognises repeated answers.
public struct HealthPull: Sendable {
  /// Returns the answer to one question; its task is cancelled when the time is up.
  public typealias Answering =
    @Sendable (RelayRequestID, HealthQuestion) async -> HealthObject

  /// What can be sent within the budget at 100 KB a second; a longer answer is marked as cut.
  private static let limits = AnswerLimits(maxBytes: 1 << 20)

  let api: PullAPI
  private let clock: any LinkClock
  private let answer: Answering

  /// Makes a pull that answers from the health store, like a relay of this configuration.
  ///
  /// - Parameter token: `resume` of the relay's model while it runs, or the one in a `ResumeFile`.
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

  /// Makes a pull that answers by a function of the app.
  ///
  /// - Parameters:
  ///   - server: `http` or `https`, host and port; a path is kept as a prefix.
  ///   - token: the resume token; a secret.
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
  /// - Parameter budget: 25 s by seed 000; a push gives an app about 30 s.
  public func run(budget: Duration = .seconds(25)) async -> PullReport {
    let running = Running(
      MachineStart(PullSettings(budget: budget)), PullShell(api, answer), clock: clock,
      first: [.begin])
    // In a task of its own: a cancelled one could not report that it was cancelled.
    let pulling = Task {
      let report = await running.shell.updates.next()
      await running.end()
      return report ?? PullReport(ending: .cancelled)
    }
    return await withTaskCancellationHandler {
      await pulling.value
    } onCancel: {
      running.command(.cancel)
    }
  }

  /// Registers the address at which a push reaches this phone.
  ///
  /// - Throws: the failure of the exchange; `.http` with 401 if the token has expired.
  public func register(_ address: PushAddress) async throws(LinkFailure) {
    try await api.send("/relay/push", address.encode(), within: .seconds(10))
  }
}

extension HealthPull {
  /// Ends the pairings of an order, by default of none, and returns the assistants that are paired
  /// with this phone then.
  ///
  /// - Throws: the failure of the exchange; `.http` with 401 if the token has expired, and with 404
  ///   if the backend has no such list or no assistant has the id.
  public func assistants(
    _ order: AssistantsOrder = .list
  ) async throws(LinkFailure) -> PairedAssistants {
    try await api.assistants(order)
  }
}
