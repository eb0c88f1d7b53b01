import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastLinkTrace
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit

/// The environment of the demo: its participants, and the actions and measurements that scenarios
/// share.
actor DemoEnvironment {
  /// The maximum time of a recovery, which is 12 s by default. A recovery that takes longer has
  /// failed.
  var timeLimit: Duration { .seconds(10) + work }

  let scene: Scene
  /// The page that shows the demo; `nil` if none is wanted.
  let picture: DemoPicture?
  let server: Server
  let proxy: FaultProxy
  let phone: Phone
  let customers: Customers
  let http: any HTTPClient
  let policy: LinkPolicy
  /// The time that the machine may need for work whose duration no policy limits, such as starting a
  /// process, reading a database, or fetching missed messages.
  private let work: Duration
  let scratch: Scratch
  let seed: UInt64
  /// The time at which the phone's first token expires, which is after the first two scenarios.
  private(set) var tokenEnd = Timestamp(nanoseconds: 0)
  var ledger = Ledger(counts: Counts(), outcomes: [], sections: [])
  /// The messages that earlier scenarios have waited for. Later scenarios do not wait for them
  /// again.
  var awaited: Set<MessageID> = []
  private let scenarios: [any DemoScenario]
  let program: String
  private let narrator: Narrator
  private let output: @Sendable (String) -> Void
  private let began = Scene.Moment.now
  private var endings: [@Sendable () async -> Void] = []

  init(
    scratch: Scratch, scenarios: [any DemoScenario], seed: UInt64, program: String,
    narrator: Narrator, isDrawn: Bool = false, work: Duration,
    output: @escaping @Sendable (String) -> Void
  ) async throws(DemoFailure) {
    (self.scenarios, self.work) = (scenarios, work)
    ledger.expected = Trouble.of(scenarios)
    ledger.hasTraffic = scenarios.contains { $0.needsTraffic }
    (self.scratch, self.seed, self.program) = (scratch, seed, program)
    (self.narrator, self.output) = (narrator, output)
    let picture =
      isDrawn ? DemoPicture(of: scenarios.compactMap(\.link), journals: scratch.path) : nil
    self.picture = picture
    scene = Scene(picture: picture)
    policy = try Self.checked { () throws(PolicyError) in try DemoPolicy.policy() }
    server = Server(directory: scratch("server")) { isRunning in
      await picture?.server(of: [.messages, .relay], isRunning: isRunning)
    }
    try await server.start()
    let port = await server.port
    proxy = try Self.checked { () throws(FaultProxyError) in try FaultProxy(upstream: port) }
    http = try Self.checked { () throws(LinkFailure) in try HoldfastPlatform.network(proxy: "") }
    customers = try Customers(
      http: http, server: await server.url, seed: seed, accepted: Self.note(in: scene, picture))
    phone = Phone(
      .messages,
      arguments: Self.arguments(program, .messages, proxy, scratch) + [
        "--shop", Customers.shop, "--token-command", "cat \(scratch("token"))",
      ] + DemoPolicy.arguments + Self.journal(of: .messages, picture), scene: scene)
  }

  private static func arguments(
    _ program: String, _ app: App, _ proxy: FaultProxy, _ scratch: Scratch
  ) -> [String] {
    [
      program, app.rawValue, "--json", "--server", "http://127.0.0.1:\(proxy.port)", "--data",
      scratch("phone"),
    ]
  }

  /// Returns a function that notes the messages that the server accepted.
  private static func note(
    in scene: Scene, _ picture: DemoPicture?
  ) -> @Sendable (MessageChecker.Entry) async -> Void {
    { entry in
      await scene.note { $0.accept(entry) }
      await picture?.add(.accepted, "The server accepted “\(entry.text)”.", of: .messages)
    }
  }

  /// Returns the arguments with which an app writes its journal.
  private static func journal(of app: App, _ picture: DemoPicture?) -> [String] {
    picture.map { ["--journal", $0.journal(of: app)] } ?? []
  }

  /// Returns the arguments with which an app writes its journal, if a page is wanted.
  func journal(of app: App) -> [String] { Self.journal(of: app, picture) }

  /// Returns a server of its own for an app.
  func server(of app: App, directory: String) -> Server {
    Server(directory: directory) { [picture] isRunning in
      await picture?.server(of: [app], isRunning: isRunning)
    }
  }

  /// Returns the result of `make`, and converts its failure to a demo failure.
  static func checked<Value, Failure>(
    _ make: () throws(Failure) -> Value
  ) throws(DemoFailure) -> Value {
    do throws(Failure) {
      return try make()
    } catch {
      throw .setup("the demo could not be set up: \(error)")
    }
  }

  /// Returns an app of the phone that connects through the proxy, with additional arguments.
  func app(_ app: App, _ arguments: [String]) -> Phone {
    let phone = Phone(
      app,
      arguments: Self.arguments(program, app, proxy, scratch) + arguments + journal(of: app),
      scene: scene)
    atEnd { await phone.quit() }
    return phone
  }

  /// Returns an app that connects to its own server.
  func app(_ app: App, at server: String, _ arguments: [String]) -> Phone {
    let phone = Phone(
      app,
      arguments: [
        program, app.rawValue, "--json", "--server", server, "--data", scratch("phone-\(app)"),
      ] + arguments + journal(of: app), scene: scene)
    atEnd { await phone.quit() }
    return phone
  }

  /// Gives the phone its first token. If the demo shows how a token expires, the token lasts until the
  /// phone has connected, even on a busy machine.
  func giveFirstToken() throws(DemoFailure) {
    let expires = scenarios.contains { $0 is TokenExpiry }
    let life = expires ? .seconds(8) + min(work, .seconds(20)) : Duration.seconds(3600)
    // The expiration time of a token is in whole seconds.
    let end = BootClock().wall.advanced(by: life).nanoseconds
    tokenEnd = Timestamp(nanoseconds: end - end % 1_000_000_000)
    try giveToken(until: tokenEnd)
  }

  /// Registers work to be done at the end of the demo, even if the demo fails.
  func atEnd(_ work: @escaping @Sendable () async -> Void) { endings.append(work) }

  /// Ends all participants that are still running.
  func clear() async {
    await customers.leave()
    for ending in endings.reversed() { await ending() }
    await phone.quit()
    await server.crash()
  }

  // MARK: - Telling

  /// Plays all scenarios. Returns whether the ledger is clean.
  func play() async throws(DemoFailure) -> Bool {
    if ledger.hasTraffic {
      say(.title("A phone follows a shop's messages while everything under it breaks."))
      say(
        .narration,
        "Waits are cut to fit a minute: the phone takes 3 s of silence for a dead link where")
      say(
        .narration,
        "it would take 90 s, polls every 1.5 s instead of 30 s, and retries ten times as fast.")
    } else {
      say(.title("A part of the demo, with waits cut to fit a minute."))
    }
    for (index, scenario) in scenarios.enumerated() {
      try checkWanted()
      say(.scenario(index + 1, scenario.title))
      try await scenario.play(on: self)
    }
    say(.ledger(ledger))
    return ledger.isClean
  }

  func say(_ who: DemoEvent.Who, _ text: String) {
    say(.line(who, text))
  }

  private func say(_ what: DemoEvent.What) {
    let event = DemoEvent(at: Scene.Moment.now - began, what: what)
    for line in narrator.lines(for: event) { output(line) }
  }

  // MARK: - Acting

  func set(_ fault: Fault, on proxy: FaultProxy? = nil) async throws(DemoFailure) {
    do throws(FaultProxyError) {
      try await (proxy ?? self.proxy).set(fault)
    } catch {
      throw .setup("the proxy failed: \(error)")
    }
  }

  /// Waits for a duration, or until the demo is interrupted.
  func pause(_ time: Duration) async throws(DemoFailure) {
    _ = try await wait(atMost: time) { _ in false }
  }

  /// Waits until `condition` holds. Returns the time, or `nil` if the condition does not hold
  /// within `limit`, which is `timeLimit` by default.
  @discardableResult
  func wait(
    atMost limit: Duration? = nil, until condition: @escaping Scene.Condition
  ) async throws(DemoFailure) -> Scene.Moment? {
    let met = await scene.wait(atMost: limit ?? timeLimit, until: condition)
    try checkWanted()
    return met
  }

  /// Throws `.interrupted` if the user ended the demo.
  func checkWanted() throws(DemoFailure) {
    guard !Task.isCancelled else { throw .interrupted }
  }

  // MARK: - Measuring

  /// Plays a fault between `begin` and `end`, and measures how an app recovers.
  ///
  /// - Parameters:
  ///   - moment: The time at which the fault begins and ends, if `begin` and `end` do not determine
  ///     it.
  ///   - time: The duration of the fault after the app has noticed it.
  ///   - recovered: A text that describes the recovered app.
  ///   - end: A function that ends the fault. It returns the condition under which the app has
  ///     recovered completely.
  func play(
    _ trouble: Trouble, of app: App = .messages, at moment: Scene.Moment? = nil,
    lasting time: Duration, recovered: String = "is connected and whole again",
    begin: (isolated DemoEnvironment) async throws(DemoFailure) -> Void,
    end: (isolated DemoEnvironment) async throws(DemoFailure) -> Scene.Condition
  ) async throws(DemoFailure) {
    let before = await caughtUp()
    let start = moment ?? Scene.Moment.now
    // What breaks while the relay is asked also concerns the messages, which use the same network.
    let apps = app == .relay ? [app, .messages] : [app]
    let fault = await picture?.begin(trouble, of: apps, in: start - .now) ?? []
    try await begin(self)
    let isNoticeable = trouble.bounds(policy, work).noticed != nil
    let noticed = isNoticeable ? try await notice(by: app, since: start) : nil
    try await pause(time)
    let isWhole = try await end(self)
    await picture?.end(fault)
    let whole = try await heal(app, since: moment ?? .now, isWhole)
    note(trouble, noticed: noticed, whole: whole)
    guard let whole else { return }
    var text = "\(recovered) after \(whole.shown)"
    if app == .messages {
      let fetched = await caughtUp() - before
      text += fetched == 0 ? "; nothing was missed" : "; \(fetched) missed messages are there"
    }
    say(app.who, text)
  }

  /// Waits for an app's first status that is not connected. Returns the time that this took.
  ///
  /// If the fault begins at a given time, a status up to 0.5 s earlier also counts, because another
  /// clock may have started the fault.
  private func notice(
    by app: App, since start: Scene.Moment
  ) async throws(DemoFailure) -> Duration? {
    let early: Duration = start > .now ? .milliseconds(500) : .zero
    let isLoss = { @Sendable (at: Scene.Moment, status: AppLine.Status) in
      at >= start - early && !status.isConnected
    }
    try await wait(atMost: max(start - .now, .zero) + timeLimit) {
      $0[app].ending != nil || $0[app].statuses.contains(where: isLoss)
    }
    guard let loss = await scene.facts[app].statuses.first(where: isLoss) else {
      say(app.who, "has not noticed after \(timeLimit.seconds(0)) s")
      return nil
    }
    let time = max(loss.at - start, .zero)
    let reason = loss.status.reason.isEmpty ? "" : " (\(loss.status.reason))"
    say(app.who, "notices after \(time.shown): \(loss.status.status)\(reason)")
    return time
  }

  /// Waits until `isWhole` holds. Returns the time that this took.
  func heal(
    _ app: App, since end: Scene.Moment, _ isWhole: @escaping Scene.Condition
  ) async throws(DemoFailure) -> Duration? {
    let met = try await wait { $0[app].ending != nil || isWhole($0) }
    if let ending = await scene.facts[app].ending {
      ledger.faults.append("the phone's process ended by itself with \(ending)")
      return nil
    }
    guard let met else {
      say(app.who, "is not whole again after \(timeLimit.seconds(0)) s")
      return nil
    }
    return max(met - end, .zero)
  }

  func note(_ trouble: Trouble, noticed: Duration?, whole: Duration?) {
    ledger.outcomes.append(
      Outcome(
        trouble: trouble, noticed: noticed, whole: whole, bounds: trouble.bounds(policy, work)))
  }
}

/// A backend that can be restarted on the same port with the same data.
actor Server {
  nonisolated let directory: String
  private var backend: Backend?
  private(set) var port: UInt16 = 0
  private let changed: @Sendable (_ isRunning: Bool) async -> Void

  /// Creates a backend that does not run.
  ///
  /// - Parameter changed: A function that is called when the backend starts or ends.
  init(
    directory: String, changed: @escaping @Sendable (_ isRunning: Bool) async -> Void = { _ in }
  ) {
    (self.directory, self.changed) = (directory, changed)
  }

  var url: String { "http://127.0.0.1:\(port)" }

  func start(offersStream: Bool = true) async throws(DemoFailure) {
    var configuration = BackendConfiguration(dataDirectory: directory)
    configuration.port = port
    configuration.policy = DemoPolicy.server(offersStream: offersStream)
    let next = Backend(configuration)
    do throws(BackendError) {
      port = try await next.start().port
    } catch {
      throw .setup("the server did not start: \(error)")
    }
    backend = next
    await changed(true)
  }

  /// Ends the backend without closing its connections, as in a crash.
  func crash() async {
    guard let backend else { return }
    await backend.kill()
    self.backend = nil
    await changed(false)
  }
}
