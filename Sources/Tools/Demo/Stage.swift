import Holdfast
import HoldfastBackend
import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire

/// Everything that plays, and what the chapters do with it.
actor Stage {
  /// How long anything may take before it counts as not recovered.
  static let patience = Duration.seconds(12)

  let scene = Scene()
  let server: Server
  let proxy: FaultProxy
  let phone: Phone
  let relay: Phone
  let assistant: Assistant
  let customers: Customers
  let policy: LinkPolicy
  private let scratch: Scratch
  private let seed: UInt64
  private let shop: ShopID
  private let narrator: Narrator
  private let tell: @Sendable (String) -> Void
  private let began = Scene.Moment.now
  private var outcomes: [Outcome] = []
  private var questions = Questions()
  private var faults: [String] = []
  /// Missed in a chapter whose time ran out; later chapters do not wait for them again.
  private var givenUp: Set<MessageID> = []
  private var chapters = 0

  init(
    scratch: Scratch, seed: UInt64, program: String, narrator: Narrator,
    tell: @escaping @Sendable (String) -> Void
  ) async throws(DemoFailure) {
    guard let shop = ShopID("bakery") else { throw .setup("the shop has no valid name") }
    (self.scratch, self.seed) = (scratch, seed)
    self.shop = shop
    self.narrator = narrator
    self.tell = tell
    policy = try Self.checked { () throws(PolicyError) in try DemoPolicy.policy() }
    server = Server(directory: "\(scratch.path)/server")
    try await server.start()
    let port = await server.port
    proxy = try Self.checked { () throws(FaultProxyError) in try FaultProxy(upstream: port) }
    let link = ["--json", "--server", "http://127.0.0.1:\(proxy.port)"]
    phone = Phone(
      .messages,
      words: [program, "stream"] + link + [
        "--shop", shop.text, "--data", "\(scratch.path)/phone", "--token-command",
        "cat \(scratch.path)/token",
      ] + DemoPolicy.arguments, scene: scene)
    relay = Phone(
      .relay,
      words: [program, "relay"] + link + [
        "--data", "\(scratch.path)/phone", "--time-zone", HealthData.zone,
      ], scene: scene)
    let http = try Self.checked { () throws(LinkFailure) in try Platform.network(proxy: "") }
    assistant = Assistant(http: http, server: await server.url)
    customers = Customers(
      http: http, scene: scene, server: await server.url, shop: shop, seed: seed)
  }

  private static func checked<Value, Failure>(
    _ make: () throws(Failure) -> Value
  ) throws(DemoFailure) -> Value {
    do throws(Failure) {
      return try make()
    } catch {
      throw .setup("the stage could not be set: \(error)")
    }
  }

  /// Ends whatever still runs.
  func clear() async {
    await customers.leave()
    await relay.quit()
    await phone.quit()
    await server.crash()
  }

  // MARK: - Telling

  func chapter(_ title: String) throws(DemoFailure) {
    guard !Task.isCancelled else { throw .interrupted }
    chapters += 1
    say(.chapter(chapters, title))
  }

  func title(_ text: String) {
    say(.title(text))
  }

  func say(_ who: StoryEvent.Who, _ text: String) {
    say(.told(who, text))
  }

  private func say(_ what: StoryEvent.What) {
    let event = StoryEvent(at: Scene.Moment.now - began, what: what)
    for line in narrator.lines(for: event) { tell(line) }
  }

  // MARK: - Acting

  func startCustomers() async throws(DemoFailure) {
    let end = BootClock().wall.advanced(by: .seconds(3600))
    var tokens: [String] = []
    for name in Customers.names {
      tokens.append(try await server.token(of: name, for: shop, until: end))
    }
    await customers.start(tokens: tokens)
  }

  /// Puts a token where the phone looks for one.
  func giveToken(until expiry: Timestamp) async throws(DemoFailure) {
    try scratch.write(try await server.token(of: "phone", for: shop, until: expiry), to: "token")
  }

  func set(_ fault: Fault) async throws(DemoFailure) {
    do throws(FaultProxyError) {
      try await proxy.set(fault)
    } catch {
      throw .setup("the proxy failed: \(error)")
    }
  }

  /// Lets time pass, less when the story is interrupted.
  func pause(_ time: Duration) async throws(DemoFailure) {
    _ = await scene.wait(atMost: time) { _ in false }
    guard !Task.isCancelled else { throw .interrupted }
  }

  /// Fills the phone with health data.
  func makeHealthData() async throws(DemoFailure) -> HealthData {
    try await HealthData(seed: seed, in: scratch.path, phone: "\(scratch.path)/phone")
  }

  // MARK: - Measuring

  /// Waits for the phone's first word that it is not connected; answers how long that took.
  ///
  /// `early` is how far a clock may be off that the trouble goes by.
  func notice(
    since start: Scene.Moment, early: Duration = .zero
  ) async throws(DemoFailure) -> Duration? {
    let limit = max(start - .now, .zero) + Self.patience
    let isWord = { @Sendable (at: Scene.Moment, status: PhoneLine.Status) in
      at >= start - early && !status.isConnected
    }
    _ = await scene.wait(atMost: limit) { $0.ending != nil || $0.statuses.contains(where: isWord) }
    guard !Task.isCancelled else { throw .interrupted }
    guard let word = await scene.facts.statuses.first(where: isWord) else {
      say(.phone, "has not noticed after \(Self.patience.seconds(0)) s")
      return nil
    }
    let time = max(word.at - start, .zero)
    let reason = word.status.reason.isEmpty ? "" : " (\(word.status.reason))"
    say(.phone, "notices after \(time.told): \(word.status.status)\(reason)")
    return time
  }

  /// Waits until all that was accepted by now is shown, and the link is as `condition` wants it.
  func heal(
    since end: Scene.Moment, _ condition: @escaping @Sendable (PhoneLine.Status) -> Bool
  ) async throws(DemoFailure) -> Duration? {
    let missing = await scene.facts.unseen.subtracting(givenUp)
    let met = await scene.wait(atMost: Self.patience) { facts in
      facts.ending != nil || condition(facts.status) && facts.unseen.isDisjoint(with: missing)
    }
    guard !Task.isCancelled else { throw .interrupted }
    let facts = await scene.facts
    if let ending = facts.ending {
      faults.append("the phone's process ended by itself with \(ending)")
      return nil
    }
    guard let met else {
      let left = facts.unseen.intersection(missing)
      givenUp.formUnion(left)
      say(
        .phone,
        "is not whole again after \(Self.patience.seconds(0)) s: \(left.count) messages are missing"
      )
      return nil
    }
    return max(met - end, .zero)
  }

  func note(_ trouble: Trouble, noticed: Duration?, whole: Duration?) {
    outcomes.append(
      Outcome(
        trouble: trouble, noticed: noticed, whole: whole, bounds: trouble.bounds(policy)))
  }

  func note(_ answer: Assistant.Answer, expecting right: Set<DaySteps>) {
    questions.note(answer, expecting: right)
  }

  /// Messages shown so far that did not come over the socket.
  func caughtUp() async -> Int {
    let via = await scene.facts.via
    return via["catchUp", default: 0] + via["poll", default: 0]
  }

  // MARK: - Judging

  /// Closes the books; the phone must have ended.
  func settle() async -> Bool {
    let facts = await scene.facts
    var judge = Judge(accepted: facts.accepted, runs: facts.runs)
    do throws(StoreFailure) {
      let store = try await Platform.store(in: "\(scratch.path)/phone", forReading: true)
      let kept = try await store.load(shop, limit: facts.accepted.count * 2 + 1)
      await store.close()
      judge.timeline = kept.messages.map { Judge.Entry(key: $0.key, text: $0.text) }
      if !kept.gaps.isEmpty { faults.append("the timeline has \(kept.gaps.count) holes") }
    } catch {
      faults.append("the phone's store cannot be read: \(error)")
    }
    let count = await customers.countInLog()
    if count != UInt64(judge.accepted.count) {
      faults.append(
        "the server's log holds \(count.map(String.init) ?? "an unknown number of") messages")
    }
    if let strange = await customers.strangeAnswer { faults.append(strange) }
    let ledger = Ledger(
      counts: judge.counts, outcomes: outcomes, questions: questions, faults: faults)
    say(.ledger(ledger))
    return ledger.isClean
  }
}
