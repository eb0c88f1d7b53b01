import Holdfast
import HoldfastBackend
import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire

/// The parties of the demo, and the actions and measurements that chapters share.
actor Stage {
  /// How long a recovery may take before it counts as failed.
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
  var questions = Questions()
  var feed = FeedCounts()
  private var faults: [String] = []
  /// Messages that a chapter did not receive in time; later chapters do not wait for them.
  private var givenUp: Set<MessageID> = []
  private var chapters = 0
  /// When the phone's first token expires: after the first four chapters.
  let tokenEnd: Timestamp

  /// From the launch to the end of the phone's first token.
  private static let tokenLife = Duration.seconds(20)

  init(
    scratch: Scratch, seed: UInt64, program: String, narrator: Narrator,
    tell: @escaping @Sendable (String) -> Void
  ) async throws(DemoFailure) {
    guard let shop = ShopID("bakery") else { throw .setup("the shop has no valid name") }
    (self.scratch, self.seed) = (scratch, seed)
    self.shop = shop
    self.narrator = narrator
    self.tell = tell
    // A token counts whole seconds.
    let wall = BootClock().wall.advanced(by: Self.tokenLife).nanoseconds
    tokenEnd = Timestamp(nanoseconds: wall - wall % 1_000_000_000)
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

  /// Ends all parties that still run.
  func clear() async {
    await customers.leave()
    await relay.quit()
    await phone.quit()
    await server.crash()
  }

  // MARK: - Telling

  /// Plays all chapters; returns whether the ledger is clean.
  func play() async throws(DemoFailure) -> Bool {
    say(.title("A phone follows a shop's messages while everything under it breaks."))
    say(
      .story, "Waits are cut to fit a minute: the phone takes 3 s of silence for a dead link where")
    say(
      .story,
      "it would take 90 s, polls every 1.5 s instead of 30 s, and retries ten times as fast.")
    for chapter in Demo.chapters {
      guard !Task.isCancelled else { throw .interrupted }
      chapters += 1
      say(.chapter(chapters, chapter.title))
      try await chapter.play(on: self)
    }
    return await settle()
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

  /// Writes a new token where the phone reads it.
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

  /// Waits, less if the demo is interrupted.
  func pause(_ time: Duration) async throws(DemoFailure) {
    _ = await scene.wait(atMost: time) { _ in false }
    guard !Task.isCancelled else { throw .interrupted }
  }

  /// Generates health data and imports it into the phone.
  func makeHealthData() async throws(DemoFailure) -> HealthData {
    try await HealthData(seed: seed, in: scratch.path, phone: "\(scratch.path)/phone")
  }

  // MARK: - Measuring

  /// Plays a trouble between `begin` and `end`, and measures how the phone recovers.
  ///
  /// - Parameter time: how long the trouble lasts after the phone has noticed it.
  func play(
    _ trouble: Trouble, lasting time: Duration,
    begin: (isolated Stage) async throws(DemoFailure) -> Void,
    end: (isolated Stage) async throws(DemoFailure) -> Void
  ) async throws(DemoFailure) {
    let before = await caughtUp()
    let start = Scene.Moment.now
    try await begin(self)
    let isNoticeable = trouble.bounds(policy).noticed != nil
    let noticed = isNoticeable ? try await notice(since: start) : nil
    try await pause(time)
    try await end(self)
    let over = Scene.Moment.now
    let whole = try await heal(since: over, \.isConnected)
    await tellWhole(trouble, noticed: noticed, whole: whole, before: before)
  }

  /// Records a trouble's outcome and tells the phone's recovery.
  func tellWhole(
    _ trouble: Trouble, noticed: Duration?, whole: Duration?, before: Int,
    how: String = "connected and whole again"
  ) async {
    note(trouble, noticed: noticed, whole: whole)
    guard let whole else { return }
    let fetched = await caughtUp() - before
    let what = fetched == 0 ? "nothing was missed" : "\(fetched) missed messages are there"
    say(.phone, "\(how) after \(whole.told); \(what)")
  }

  /// Waits for the phone's first status that is not connected; returns how long that took.
  ///
  /// - Parameter early: how much earlier the clock that the trouble depends on may be.
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

  /// Waits until all messages accepted by now are shown and the status fulfils `condition`.
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

  /// Returns how many messages arrived otherwise than live so far.
  func caughtUp() async -> Int {
    let via = await scene.facts.via
    return via["catchUp", default: 0] + via["poll", default: 0]
  }

  // MARK: - Checking

  /// Compares all messages and prints the ledger; the phone must have ended.
  private func settle() async -> Bool {
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
      counts: judge.counts, outcomes: outcomes,
      sections: Demo.chapters.compactMap { $0.ledgerRows(of: self) }, faults: faults)
    say(.ledger(ledger))
    return ledger.isClean
  }
}
