import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastTestKit

/// The parts of the cluster, the phones and the customers, and what is measured.
actor ClusterStage {
  static let names = ["a", "b", "c"]
  private static let phoneCount = 3

  let nodes: [LabBackend]
  let database: DatabasePair
  let balancer: Balancer
  /// The servers that carry the reports between the nodes; `nil` if the database does.
  let bus: BusServers?
  private let scenes: [ClusterScene]
  private let followers: [Follower]
  private let customers: Customers
  private let silence = Silence()
  private let http: any HTTPClient
  private let policy: LinkPolicy
  private let work: Duration
  private let narrator: Narrator
  private let output: @Sendable (String) -> Void
  private let began = Scene.Moment.now
  private var ledger = Ledger(counts: Counts(), outcomes: [], sections: [])
  private var silences: [LedgerSection.Row] = []

  /// A phone, what is known of it, and its files.
  private struct Follower: Sendable {
    let phone: Phone
    let scene: Scene
    let name: String
    let directory: String
    let tokenFile: String
  }

  init(
    scratch: Scratch, scenes: [ClusterScene], seed: UInt64, program: String,
    programs: DatabasePrograms, narrator: Narrator, work: Duration,
    output: @escaping @Sendable (String) -> Void
  ) throws(DemoFailure) {
    (self.scenes, self.work, self.narrator, self.output) = (scenes, work, narrator, output)
    ledger.expected = scenes.map(\.trouble)
    ledger.hasTraffic = false
    policy = try DemoEnvironment.checked { () throws(PolicyError) in try DemoPolicy.policy() }
    http = try Self.network()
    // The first of fifteen, below those that Linux selects.
    let port = UInt16.random(in: 10_240..<32_740)
    let database = DatabasePair(programs, in: scratch("database"), from: port)
    let bus = BusServers(from: port + 9)
    (self.database, self.bus) = (database, bus)
    let places = zip(Self.names, (port + 3)...)
    balancer = Balancer(
      port: port + 2, file: scratch("haproxy.cfg"), nodes: places.map { ($0, "127.0.0.1:\($1)") })
    nodes = places.map { name, port in
      LabBackend(
        program: program, directory: scratch("node-\(name)"), port: port,
        options: [
          "--database", database.url, "--node", name, "--trusted-proxy", "127.0.0.1",
          "--cluster-listen", "127.0.0.1:\(port + UInt16(Self.names.count))",
          "--ping-interval", "1s", "--pong-timeout", "4s",
        ] + (bus.map { ["--bus", $0.url] } ?? []), environment: programs.environment)
    }
    let server = balancer.url
    let followers = (1...Self.phoneCount).map {
      Self.follower("phone-\($0)", in: scratch, program, server)
    }
    self.followers = followers
    customers = try Customers(
      http: http, server: server, seed: seed, repeatable: [429, 502, 503, 504],
      accepted: { [silence] entry in
        await silence.end()
        for follower in followers { await follower.scene.note { $0.accept(entry) } }
      })
  }

  private static func network() throws(DemoFailure) -> any HTTPClient {
    try DemoEnvironment.checked { () throws(LinkFailure) in
      try HoldfastPlatform.network(proxy: "")
    }
  }

  private static func follower(
    _ name: String, in scratch: Scratch, _ program: String, _ server: String
  ) -> Follower {
    let (scene, directory, token) = (Scene(), scratch(name), scratch("\(name)-token"))
    let phone = Phone(
      .messages,
      arguments: [
        program, App.messages.rawValue, "--json", "--server", server, "--data", directory,
        "--shop", Customers.shop, "--token-command", "cat '\(token)'",
      ] + DemoPolicy.arguments, scene: scene)
    return Follower(
      phone: phone, scene: scene, name: name, directory: directory, tokenFile: token)
  }

  // MARK: - Playing

  /// Starts everything, and plays all scenes. Returns whether the ledger is clean.
  func play() async throws(DemoFailure) -> Bool {
    say(.title("\(Self.phoneCount) phones follow a shop while each part of a cluster is killed."))
    say(.narration, "The waits of the phones are cut to fit a minute, those of the nodes are not.")
    try await start()
    for (index, scene) in scenes.enumerated() {
      say(.scenario(index + 1, scene.title))
      try await play(scene)
    }
    say(.scenario(scenes.count + 1, "Calm"))
    try await finish()
    say(.ledger(ledger))
    return ledger.isClean
  }

  private func start() async throws(DemoFailure) {
    try await database.start()
    say(.database, "a primary runs, with a synchronous standby")
    try await bus?.start()
    say(
      .bus,
      bus == nil
        ? "NOTIFY carries the reports between nodes, as nats-server is not installed"
        : "three servers of NATS carry the reports between nodes")
    try await nodes[0].start()
    for node in nodes.dropFirst() {
      try copySecrets(from: nodes[0].directory, to: node.directory)
      try await node.start()
    }
    try await balancer.start()
    try await calm()
    let time = Scene.Moment.now - began
    say(.balancer, "nodes \(Self.names.joined(separator: ", ")) serve after \(time.shown)")
    let tokens = try DemoEnvironment.checked { () throws(BackendError) in
      try Tokens.open(in: nodes[0].directory)
    }
    func token(of user: String) -> String {
      tokens.issue(user: user, name: user, shops: [customers.shop], ttl: .seconds(3600))
    }
    await customers.start(tokens: Customers.names.map(token))
    for follower in followers {
      try DemoEnvironment.checked { () throws(OwnerFileError) in
        try OwnerFile(follower.tokenFile, maxBytes: 8_192, isSecret: true)
          .replace(with: Array(token(of: follower.name).utf8))
      }
      try await follower.phone.launch()
    }
    guard try await heal().time != nil else { throw .setup("the phones did not connect") }
    say(.phone, "all \(Self.phoneCount) are connected; two customers write, whatever happens")
  }

  /// Gives a node the secrets that all nodes must have.
  private func copySecrets(from first: String, to other: String) throws(DemoFailure) {
    let files = FileManager.default
    do {
      try files.createDirectory(
        atPath: other, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      for name in ["secret", "session-key"] {
        try files.copyItem(atPath: "\(first)/\(name)", toPath: "\(other)/\(name)")
      }
    } catch {
      throw .setup("the nodes' secrets could not be copied: \(error)")
    }
  }

  private func play(_ scene: ClusterScene) async throws(DemoFailure) {
    await silence.begin()
    try await scene.play(self)
    let (whole, posted, counts) = try await heal()
    let quiet = await silence.longest
    let bounds = scene.trouble.bounds(policy, work)
    ledger.outcomes.append(
      Outcome(trouble: scene.trouble, noticed: nil, whole: whole, bounds: bounds))
    silences.append(
      .init(
        "\(scene.title), ms", key: scene.trouble.name, Int(quiet.nanoseconds / 1_000_000),
        isGood: quiet <= scene.silence + work))
    let state = whole.map { "all are whole again after \($0.shown)" } ?? "not all are whole again"
    say(.phone, "\(state), with \(quiet.seconds(1)) s without answers")
    say(
      .phone,
      "\(posted) posted, \(counts.sent) acknowledged: lost \(counts.lost), duplicated "
        + "\(counts.duplicated), out of order \(counts.outOfOrder)")
    try await calm()
  }

  private func finish() async throws(DemoFailure) {
    await customers.stop()
    let posted = await customers.posted
    _ = try await heal()
    for follower in followers { await follower.phone.quit() }
    var counts: [Counts] = []
    for follower in followers {
      let found = await MessageChecker.compare(
        await follower.scene.facts, in: follower.directory, shop: customers.shop)
      counts.append(found.counts)
      ledger.faults += found.faults.map { "\(follower.name): \($0)" }
    }
    let totals = Counts.together(counts)
    ledger.faults += await customers.faults(accepted: totals.sent)
    say(.phone, "all have ended; what they stored is compared with what was acknowledged")
    ledger.sections = [
      LedgerSection(
        "messages",
        [
          .init("posted", posted, isGood: posted > 0),
          .init("acknowledged", totals.sent, isGood: totals.sent == posted),
          .init("at each phone", key: "received", totals.shown, isGood: totals.shown == posted),
        ] + totals.section.rows.filter { !["sent", "shown"].contains($0.key) }),
      LedgerSection("silence", silences),
    ]
  }

  /// Ends everything that still runs.
  func clear() async {
    await customers.leave()
    for follower in followers { await follower.phone.quit() }
    await balancer.kill()
    for node in nodes { await node.kill() }
    await bus?.kill()
    await database.end()
  }

  // MARK: - Acting

  func say(_ who: DemoEvent.Who, _ text: String) { say(.line(who, text)) }

  private func say(_ what: DemoEvent.What) {
    let event = DemoEvent(at: Scene.Moment.now - began, what: what)
    for line in narrator.lines(for: event) { output(line) }
  }

  /// Adds a failure to the ledger.
  func fail(_ text: String) { ledger.faults.append(text) }

  /// Waits for a duration, or until the demo is interrupted.
  func pause(_ time: Duration) async throws(DemoFailure) {
    do { try await Task.sleep(for: time) } catch { throw .interrupted }
  }

  /// Waits until each node serves, and the balancer reaches one of them.
  func calm() async throws(DemoFailure) {
    let limit = Scene.Moment.now + .seconds(10) + work
    var places = [("the balancer", balancer.url)]
    for (node, name) in zip(nodes, Self.names) { places.append(("node \(name)", await node.url)) }
    for (place, url) in places {
      while await !isServing(url) {
        guard Scene.Moment.now < limit else { throw .setup("\(place) does not serve") }
        try await pause(.milliseconds(50))
      }
    }
  }

  /// Waits until all that was posted has arrived, which must take at most `limit`, apart from the
  /// machine's work.
  func arrival(within limit: Duration) async throws(DemoFailure) -> Duration? {
    let time = try await heal().time
    if time.map({ $0 > limit + work }) ?? true {
      fail("messages arrived after \(time?.shown ?? "too long a time")")
    }
    return time
  }

  private func isServing(_ url: String) async -> Bool {
    let call = HTTPCall(
      method: "GET", url: url + "/healthz", timeout: .seconds(1), maxBodyBytes: 1 << 16)
    return (try? await http.send(call))?.status == 200
  }

  /// Waits until posts are answered again, and all phones are connected and have shown every message
  /// that was accepted until then. Returns the time that this took, or `nil` if it took too long, and
  /// what was posted and counted until then.
  private func heal() async throws(DemoFailure) -> (time: Duration?, posted: Int, counts: Counts) {
    let start = Scene.Moment.now
    let waiting = await customers.posted
    var isWhole = try await wait(for: followers[0], since: start) { $0.accepted.count >= waiting }
    let posted = await customers.posted
    var accepted: [[MessageChecker.Entry]] = []
    for follower in followers { accepted.append(await follower.scene.facts.accepted) }
    var counts: [Counts] = []
    for (follower, accepted) in zip(followers, accepted) {
      let missing = Set(accepted.map(\.key.id))
      let isMet = try await wait(for: follower, since: start) {
        $0[.messages].status.isConnected && $0.unseen.isDisjoint(with: missing)
      }
      isWhole = isWhole && isMet
      // What a phone has stored is compared at the end.
      let runs = await follower.scene.facts.runs
      counts.append(MessageChecker(accepted: accepted, runs: runs, timeline: accepted).counts)
    }
    return (isWhole ? .now - start : nil, posted, .together(counts))
  }

  /// Waits until `condition` holds. Returns `false` if that takes too long.
  private func wait(
    for follower: Follower, since start: Scene.Moment, until condition: @escaping Scene.Condition
  ) async throws(DemoFailure) -> Bool {
    let limit = max(start + .seconds(10) + work - .now, .zero)
    let met = await follower.scene.wait(atMost: limit) {
      $0[.messages].ending != nil || condition($0)
    }
    guard !Task.isCancelled else { throw .interrupted }
    if let ending = await follower.scene.facts[.messages].ending {
      throw .setup("the process of \(follower.name) ended by itself with \(ending)")
    }
    return met != nil
  }
}

extension Counts {
  /// Returns the counts of several phones that were sent the same messages: the least number that a
  /// phone has shown, and all failures.
  static func together(_ all: [Counts]) -> Counts {
    var sum = Counts()
    sum.sent = all.map(\.sent).max() ?? 0
    sum.shown = all.map(\.shown).min() ?? 0
    for count in [\Counts.lost, \.duplicated, \.outOfOrder, \.altered, \.unknown] {
      sum[keyPath: count] = all.map { $0[keyPath: count] }.reduce(0, +)
    }
    return sum
  }
}

/// The longest time that passed between two answers to posts.
actor Silence {
  private var last = Scene.Moment.now
  private var ended = Duration.zero

  /// Begins a measurement.
  func begin() { (last, ended) = (.now, .zero) }

  /// Notes an answer.
  func end() {
    ended = max(ended, .now - last)
    last = .now
  }

  var longest: Duration { max(ended, .now - last) }
}
