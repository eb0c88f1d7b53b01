import Holdfast
import HoldfastCommandParts
import HoldfastCore
import HoldfastLinkTrace
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerSockets
import HoldfastTestKit

/// A lab: a backend, a network with faults and apps, all on this machine, and a page with buttons that
/// shows what happens to the links.
public struct Lab: Sendable {
  private let program: String
  private let names: Set<String>
  private let port: UInt16
  private let playsChapters: Bool

  /// The maximum number of requests of persons that wait. Further ones are refused. The limit is
  /// Holdfast's own.
  private static let longestQueue = 100

  /// Creates a lab.
  ///
  /// - Parameters:
  ///   - program: The executable file that is run as the backend and as each app.
  ///   - features: The features to run, from `Lab.names`; empty for all.
  ///   - port: The port of the page; 0 for a free one.
  ///   - playsChapters: Whether the lab presses its buttons itself, one after another.
  public init(
    program: String, features: Set<String> = [], port: UInt16 = 0, playsChapters: Bool = false
  ) {
    (self.program, names, self.port) = (program, features, port)
    self.playsChapters = playsChapters
  }

  /// Runs the lab until the task is cancelled.
  ///
  /// Afterwards, no process and no file of the lab is left. If this process is killed, the processes
  /// end too, and the files are in the system's temporary directory.
  ///
  /// - Parameter ready: A function that is called once every app was launched, with the address of
  ///   the page and with the lab's folder, which only its owner can read.
  public func run(
    ready: @Sendable (_ address: String, _ folder: String) -> Void
  ) async throws(DemoFailure) {
    let scratch = try Demo.scratch()
    defer { scratch.remove() }
    let (acts, sink) = AsyncStream.makeStream(
      of: LabAct.self, bufferingPolicy: .bufferingOldest(Self.longestQueue))
    let chosen = Self.features.filter { names.isEmpty || names.contains($0.name) }
    let bench = try await LabBench(program: program, scratch: scratch)
    do throws(DemoFailure) {
      try await bench.prepare(chosen.map(\.make))
      let address = try await bench.serve(on: port) { act in
        if case .enqueued = sink.yield(act) { true } else { false }
      }
      try await bench.launch()
      ready(address, scratch.path)
      let playing = playsChapters ? Task { await bench.playChapters() } : nil
      await bench.follow(acts)
      playing?.cancel()
      await playing?.value
    } catch {
      await bench.clear()
      throw error
    }
    await bench.clear()
  }
}

/// The parts of a running lab, and the links whose traces the page shows.
actor LabBench {
  private typealias Server = SocketServer<LabPages>

  /// The time between two looks at the journals.
  private static let pace = Duration.milliseconds(100)
  /// The number of looks between two reports of the time.
  private static let looksPerClock = 20

  let clock: BootClock
  let start: Instant
  let startedAt: Timestamp
  let parts: LabParts
  private let news: AsyncStream<(String, LabNews)>
  /// The features whose parts must be closed, including one whose preparation failed.
  private var features: [any LabFeature] = []
  var links: [LabLink] = []
  var on: Set<LabDeed> = []
  var busy: Set<LabDeed.Group> = []
  private var server: Server?
  private var working: [Task<Void, Never>] = []
  /// The deeds that take time, by the part of the world that they change.
  var deeds: [LabDeed.Group: Task<Void, Never>] = [:]
  /// The facts of the deeds in force.
  var lasting: [LabDeed: [(link: LabLink, fact: Int)]] = [:]
  /// The last change of the networks. Each one waits for the one before it.
  var networkTurn: Task<Void, Never>?
  /// The search for a login page, while there is one.
  var loginCheck: Task<Void, Never>?
  private(set) var isEnding = false

  /// The maximum number of reports of the features that wait for the next turn. Further ones are
  /// lost. The limit is Holdfast's own.
  private static let longestNews = 1_000

  init(program: String, scratch: Scratch) async throws(DemoFailure) {
    let clock = BootClock()
    (self.clock, start, startedAt) = (clock, clock.now, clock.wall)
    let (news, sink) = AsyncStream.makeStream(
      of: (String, LabNews).self, bufferingPolicy: .bufferingOldest(Self.longestNews))
    self.news = news
    parts = try await LabParts(program: program, scratch: scratch) { sink.yield(($0, $1)) }
  }

  /// The time since the beginning of all traces.
  var now: Duration { start.duration(to: clock.now) }

  // MARK: Begin and end

  /// Prepares the apps, without launching them.
  func prepare(_ makers: [Lab.Maker]) async throws(DemoFailure) {
    for make in makers {
      let feature = make(parts)
      features.append(feature)
      let arguments = try await feature.prepare()
      let journal = parts.scratch("\(feature.name).jsonl")
      let path = try LabPath(parts.scratch("\(feature.name).path"))
      let phone = Phone(
        feature.app, arguments: arguments + ["--journal", journal],
        environment: [LabNetworkPath.variable: path.file, "NO_COLOR": "1"],
        scene: LabWatcher(feature: feature) { [weak self] in await self?.ended(feature.name, $0) })
      links.append(
        LabLink(
          feature, phone, path, feature.trace(of: journal, start: start, startedAt: startedAt),
          startedAt: startedAt))
    }
  }

  /// Starts the server of the page. Returns its address.
  ///
  /// - Parameter perform: A function that queues what a person does. It returns false if the queue
  ///   is full.
  func serve(
    on port: UInt16, perform: @escaping @Sendable (LabAct) -> Bool
  ) async throws(DemoFailure) -> String {
    do throws(SocketServerError) {
      var configuration = SocketServerConfiguration()
      configuration.port = port
      configuration.http.maxBodyBytes = LabAccess.longestText
      // The events so far are written at once.
      configuration.maxQueuedBytes = 16 << 20
      let bound = try BoundPort(configuration)
      var random = SystemRandomNumberGenerator()
      let access = LabAccess(
        secret: UUID128.random(using: &random).description, port: bound.number,
        links: links.map(\.feature.name))
      let page = PictureFile.bytes(following: LabPage.description(of: links.map(\.feature)))
      let server = try Server(
        configuration, handler: LabPages(access, page: page, perform: perform))
      try await server.start(on: bound)
      self.server = server
      return access.address
    } catch {
      throw .setup("the page cannot be served on port \(port): \(LabPage.words(for: error))")
    }
  }

  /// Launches all apps, and begins the work of the other ends.
  func launch() async throws(DemoFailure) {
    for link in links {
      let (feature, phone) = (link.feature, link.phone)
      working.append(Task { await feature.work(on: phone) })
      link.path.tell(path, isFirst: true)
      try await link.phone.launch()
    }
    working.append(
      Task { [news] in
        for await (link, event) in news { self.tell(event, to: link) }
      })
  }

  /// Follows the journals and performs what a person does, until the task is cancelled.
  func follow(_ acts: AsyncStream<LabAct>) async {
    let acting = Task { for await act in acts { await self.perform(act) } }
    var looks = 0
    while !Task.isCancelled {
      look()
      if looks % Self.looksPerClock == 0 { post([.clock(now)]) }
      looks += 1
      try? await Task.sleep(for: Self.pace)
    }
    isEnding = true
    acting.cancel()
    await acting.value
  }

  /// Ends all processes and the server of the page. Afterwards, nothing uses the lab's files.
  func clear() async {
    isEnding = true
    loginCheck?.cancel()
    for task in working { task.cancel() }
    for task in deeds.values { task.cancel() }
    for task in deeds.values { await task.value }
    await networkTurn?.value
    for link in links { await link.phone.quit() }
    for feature in features { await feature.close() }
    await parts.backend.stop()
    await server?.stop()
    // Requests to the backend, for which the work may wait, have failed by now.
    for task in working { await task.value }
  }

  // MARK: Telling

  /// Reads the journals, and sends what is new.
  func look() { for link in links { post(link.look(now)) } }

  func post(_ events: [LabEvent]) {
    guard !events.isEmpty else { return }
    server?.inject { handler, hub in handler.add(events, on: hub) }
  }

  func postState() { post([.state(on: on, busy: busy)]) }

  /// Adds a fact to the traces of links. Returns the places of the facts.
  @discardableResult
  func tell(
    _ event: TraceEvent, _ say: String, to links: [LabLink], until end: Duration? = nil
  ) -> [(link: LabLink, fact: Int)] {
    look()
    var places: [(link: LabLink, fact: Int)] = []
    for link in links {
      var fact = TraceFact.world(event, at: now, say)
      fact.until = end
      guard let (place, events) = link.add(fact) else { continue }
      places.append((link, place))
      post(events)
    }
    return places
  }

  /// Ends facts that last.
  func end(_ places: [(link: LabLink, fact: Int)]) {
    post(places.map { .end(link: $0.link.feature.name, fact: $0.fact, at: now) })
  }

  private func tell(_ event: LabNews, to name: String) {
    let link = links.filter { $0.feature.name == name }
    switch event {
    case .accepted(let say): tell(.accepted, say, to: link)
    case .server(let say): tell(.note(.server), say, to: link)
    }
  }

  // MARK: Apps

  /// Records that an app ended by itself, and launches it again.
  private func ended(_ name: String, _ ending: AppEnding) async {
    guard !isEnding, let link = links.first(where: { $0.feature.name == name }), !link.isKilled
    else { return }
    look()
    link.isKilled = true
    link.trace.end(at: clock.now)
    tell(.note(.device), Sentence.closed("The app ended by itself with \(ending)"), to: [link])
    await untilFree(.phone)
    // What the phone did meanwhile may have launched the app.
    if link.isKilled, !isEnding { await relaunch() }
  }

  /// Launches an app that is not running.
  func launch(_ link: LabLink) async {
    guard !isEnding, link.isKilled else { return }
    link.isKilled = false
    link.path.tell(path, isFirst: true)
    do throws(DemoFailure) {
      try await link.phone.launch()
    } catch {
      link.isKilled = true
      tell(.note(.device), Sentence.closed("The app was not launched: \(error)"), to: [link])
    }
  }

  /// The network path that the phone reports.
  var path: LabNetworkPath {
    if on.contains(.noWay) { return .unreachable }
    if on.contains(.loginPage) { return .loginPage }
    return on.contains(.loseWiFi) ? .cellular : .wifi
  }
}

/// A watcher that also reports the end of an app.
private struct LabWatcher: AppWatcher {
  let feature: any LabFeature
  let end: @Sendable (AppEnding) async -> Void

  func launched(_ app: App) async { await feature.launched(app) }
  func receive(_ line: AppLine?, from app: App) async { await feature.receive(line, from: app) }
  func ended(_ app: App, _ ending: AppEnding) async {
    await feature.ended(app, ending)
    // The app's own task waits for this call.
    Task { await end(ending) }
  }
}
