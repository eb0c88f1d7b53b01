public import HoldfastCore
public import HoldfastHealth
public import HoldfastHealthRelay
public import HoldfastPorts
public import HoldfastRelayData
public import HoldfastSocket

/// A short exchange with the backend that answers queued questions while the app is in the
/// background.
///
///     let pull = try HealthPull(configuration, token: token)
///     let report = await pull.run(wake)   // from a push or a background task
///
/// The token is the resume token of the last connection. A run always ends within its budget, and
/// ends immediately when its task is cancelled. Runs may be repeated at any time, because the
/// backend recognizes repeated answers. Each run opens the health store for its first question and
/// closes it at its end, unless the app supplies the store.
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
  /// Begins a run: returns the closure that answers, and the one that is called at the end.
  private let begin: @Sendable () -> (answer: Answering, end: @Sendable () async -> Void)

  /// Creates a pull that answers from the health store, as a relay with this configuration does.
  ///
  /// - Parameter token: The resume token of a running relay, or the token in a `PairingStore`.
  /// - Throws: `.configuration` if the server's URL or the token is not valid, or the URL needs
  ///   `allowsPlaintext`; `.network` if the device has run out of descriptors or threads.
  public init(_ configuration: RelayConfiguration, token: Secret) throws(OpenError) {
    let (zone, watch) = (configuration.zone, configuration.watch)
    let (storage, clock) = (configuration.storage, configuration.ports.clock)
    try TokenSource.fixed(token.text).check()
    let network = try configuration.open().network
    self.init(PullAPI(server: configuration.server, token: token.text, http: network), clock) {
      let store = PullStore(storage)
      let answer: Answering = { id, question in
        let answer = await RelayAnswer.make(
          question, zone: zone, now: clock.wall, limits: Self.limits, from: store)
        if !Task.isCancelled { watch?(id, answer.object) }
        return answer.object
      }
      return (answer, { await store.close() })
    }
  }

  /// Creates a pull that gets each answer from a closure that the app provides.
  ///
  /// - Parameters:
  ///   - server: The server's URL: `http` or `https`, host and port. A path is used as a prefix.
  ///   - token: The resume token.
  ///   - allowsPlaintext: Whether `http://` may be used for a server on another device, as in a
  ///     `RelayConfiguration`.
  ///   - ports: The parts of the device. Only the network and the clock are used.
  ///   - answer: A closure that returns the answer to one question.
  /// - Throws: `.configuration` if the server's URL or the token is not valid, or the URL needs
  ///   `allowsPlaintext`; `.network` if the device has run out of descriptors or threads.
  public init(
    server: String, token: Secret, allowsPlaintext: Bool = false,
    ports: DevicePorts = DevicePorts(), answer: @escaping Answering
  ) throws(OpenError) {
    _ = try ServerURL.backendHost(server, ports, allowsPlaintext: allowsPlaintext)
    try TokenSource.fixed(token.text).check()
    let network = try ports.openNetwork(allowsPlaintext: allowsPlaintext)
    self.init(PullAPI(server: server, token: token.text, http: network), ports.clock) {
      (answer, {})
    }
  }

  private init(
    _ api: PullAPI, _ clock: any LinkClock,
    begin: @escaping @Sendable () -> (answer: Answering, end: @Sendable () async -> Void)
  ) {
    (self.api, self.clock, self.begin) = (api, clock, begin)
  }

  /// Leases questions and answers them.
  ///
  /// - Parameter budget: The time limit of the run. The default of 25 s is less than the 30 s
  ///   or so that a push gives an app.
  public func run(budget: Duration = .seconds(25)) async -> PullReport {
    let (answer, end) = begin()
    let runtime = MachineRuntime(
      MachineStart(PullSettings(budget: budget)), PullEffectHandler(api, answer), clock: clock,
      first: [.begin], onEnd: end)
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

  /// Leases questions and answers them within the time that the system grants, and gives it back.
  ///
  /// The run ends a little before the time: 5 s, or a sixth of a budget below 30 s. It also ends
  /// when the system takes the time back. The result is `.done` unless another pull can help.
  @discardableResult
  public func run(_ wake: Wake) async -> PullReport {
    let budget = wake.budget - min(.seconds(5), wake.budget / 6)
    let running = Task { await run(budget: budget) }
    wake.onExpiry { running.cancel() }
    let report = await withTaskCancellationHandler {
      await running.value
    } onCancel: {
      running.cancel()
    }
    wake.giveBack(report.isWorthAnother ? .later : .done)
    return report
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

extension HealthPull {
  /// Lets assistants read the samples that health sync has sent to the same backend, while this phone
  /// is away or does not wake. Such answers say so.
  ///
  /// An order with `AssistantsOrder.synced` forbids it to single assistants.
  ///
  /// - Parameters:
  ///   - secret: The secret of the user of health sync; `nil` for no samples from now on.
  ///   - zone: The time zone of days. If it has no name, the backend uses that of the user.
  /// - Returns: The name of the user; `nil` for none.
  /// - Throws: The failure of the exchange. It is `.http` with 401 if the token has expired, with 403
  ///   if no user has the secret, and with 404 if the backend does not support this.
  @discardableResult
  public func readSynced(
    of secret: Secret?, zone: ZoneRules? = nil
  ) async throws(LinkFailure) -> String? {
    let order = secret.map { SyncedOrder.read(secret: $0.text, zone: zone?.name) } ?? .stop
    return try await api.synced(order).user
  }
}

extension PullReport {
  /// Whether another pull can answer questions that this one did not answer.
  fileprivate var isWorthAnother: Bool {
    switch ending {
    case .finished: left > 0 || again != nil
    case .outOfTime, .cancelled, .failed: true
    case .signedOut, .unsupported: false
    }
  }
}
