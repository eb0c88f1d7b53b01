public import HealthRelay
public import LinkCore
public import LinkRuntime
public import LinkWire

/// Answers, in one short visit, the questions that wait at the backend for a phone in background.
///
///     let pull = HealthPull(server: url, token: token, http: http) { question in … }
///     let report = await pull.run()       // from a push or a background task
///
/// The token is the resume token of the last connection. A run is over within its budget, whatever
/// the network does, and at once when its task is cancelled. Runs may be repeated at any time: the
/// backend knows again what it was told before.
public struct HealthPull: Sendable {
  /// Answers one question with the object that goes to who asked; cancelled when time is up.
  public typealias Answering = @Sendable (RelayQuestion) async -> HealthObject

  private let api: PullAPI
  private let clock: any LinkClock
  private let answer: Answering

  /// - Parameters:
  ///   - server: `http` or `https`, host and port.
  ///   - token: the resume token; a secret.
  public init(
    server: String, token: String, http: any HTTPClient, clock: any LinkClock = BootClock(),
    answer: @escaping Answering
  ) {
    api = PullAPI(server: server, token: token, http: http)
    self.clock = clock
    self.answer = answer
  }

  /// Takes questions, answers them, and tells what came of it.
  ///
  /// - Parameter budget: 25 s by seed 000; a push gives an app about 30 s.
  public func run(budget: Duration = .seconds(25)) async -> PullReport {
    let shell = PullShell(api: api, answer: answer)
    let model = PullModel(PullSettings(budget: budget))
    let driver = Driver(machine: model, clock: clock) { effect, _ in await shell.perform(effect) }
    // A task of its own: a cancelled one could not even say that it is.
    let pulling = Task {
      await shell.begin { await driver.post($0) }
      let running = Task { await driver.run() }
      await driver.post(.begin)
      let report = await shell.finished()
      running.cancel()
      await running.value
      return report
    }
    return await withTaskCancellationHandler {
      await pulling.value
    } onCancel: {
      Task { await driver.post(.cancel) }
    }
  }

  /// Tells the backend where a push reaches this phone from now on.
  ///
  /// - Throws: what kept it from it; `.http` with 401 when the token is worth nothing any more.
  public func register(_ address: PushAddress) async throws(LinkFailure) {
    _ = try await api.send("/relay/push", address.encode(), within: .seconds(10))
  }
}
