import HoldfastCommandKit
import HoldfastCore
import HoldfastDriver
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastPorts

/// A link that a scenario of the demo shows.
struct DemoLink: Sendable {
  let app: App
  let title: String
  /// Returns the trace of the app's journal.
  let trace:
    @Sendable (_ journal: String, _ start: Instant, _ startedAt: Timestamp) -> any LiveTrace

  init<Feature: ReplayedFeature & TracedFeature>(
    _ app: App, _ title: String, _ feature: Feature.Type
  ) where Feature.Model: Journaled {
    (self.app, self.title) = (app, title)
    trace = { LiveJournalTrace(Feature.self, journal: $0, start: $1, startedAt: $2) }
  }
}

/// The page of a demo: what the journals of the apps tell, and what the demo knows about the world
/// around them.
actor DemoPicture {
  /// The place of a fact that lasts.
  struct Place: Sendable {
    fileprivate var link: Int
    fileprivate var fact: Int
  }

  private struct Link {
    let link: DemoLink
    let trace: any LiveTrace
    var told: [TraceFact] = []
    var world: [TraceFact] = []
  }

  private let directory: String
  private let clock = BootClock()
  private let start: Instant
  private let startedAt: Timestamp
  private var links: [Link]
  private var downs: [App: Place] = [:]
  /// The end of the traces; `nil` while the demo plays.
  private var end: Duration?

  /// Creates the page of links whose apps write their journals into a directory.
  init(of links: [DemoLink], journals directory: String) {
    self.directory = directory
    let (start, startedAt) = (clock.now, clock.wall)
    (self.start, self.startedAt) = (start, startedAt)
    self.links = links.map {
      Link(link: $0, trace: $0.trace(Self.path(of: $0.app, in: directory), start, startedAt))
    }
  }

  private static func path(of app: App, in directory: String) -> String {
    "\(directory)/journal-\(app).jsonl"
  }

  /// Returns the file into which an app writes its journal.
  nonisolated func journal(of app: App) -> String { Self.path(of: app, in: directory) }

  private var now: Duration { start.duration(to: clock.now) }

  /// Reads the journal of an app whose process ended.
  func ended(_ app: App, isKilled: Bool) {
    for index in links.indices where links[index].link.app == app {
      if isKilled { links[index].trace.end(at: clock.now) }
      read(index)
    }
  }

  /// Reads what the journal of a link tells since the last call.
  private func read(_ index: Int) {
    links[index].told += links[index].trace.read()
    guard let problem = links[index].trace.takeProblem() else { return }
    links[index].world.append(.world(.note(.device), at: min(now, end ?? now), problem))
  }

  /// Adds a fact to the trace of an app. Returns its place; `nil` if the app is not shown.
  ///
  /// - Parameter wait: The time until the fact.
  @discardableResult
  func add(_ event: TraceEvent, _ say: String, of app: App, in wait: Duration = .zero) -> Place? {
    guard end == nil, let index = links.firstIndex(where: { $0.link.app == app }) else {
      return nil
    }
    links[index].world.append(.world(event, at: max(now + wait, .zero), say))
    return Place(link: index, fact: links[index].world.count - 1)
  }

  /// Adds a fault of apps, which lasts until `end` is called with the places.
  func begin(_ trouble: Trouble, of apps: [App], in wait: Duration = .zero) -> [Place] {
    let say = trouble.title.prefix(1).uppercased() + trouble.title.dropFirst() + "."
    return apps.compactMap { add(.trouble(name: trouble.title), say, of: $0, in: wait) }
  }

  /// Ends facts that last.
  func end(_ places: [Place]) { for place in places { end(place) } }

  private func end(_ place: Place?) {
    guard let place else { return }
    let begin = links[place.link].world[place.fact].at
    links[place.link].world[place.fact].until = max(now, begin)
  }

  /// Records that the server of apps ended or started.
  func server(of apps: [App], isRunning: Bool) {
    for app in apps {
      if isRunning {
        end(downs.removeValue(forKey: app))
      } else if downs[app] == nil {
        downs[app] = add(.down, "The server does not run.", of: app)
      }
    }
  }

  /// Ends the traces. What follows belongs to no scenario.
  func stop() { end = now }

  /// Writes the page. The file has mode 0600, as a journal has.
  func write(to file: PrivateOutput) throws(DemoFailure) {
    let end = end ?? now
    let traces = links.indices.compactMap { index -> [UInt8]? in
      read(index)
      let link = links[index]
      guard let policy = link.trace.policy else { return nil }
      let header = TraceHeader(
        .demo, machine: link.trace.machine, name: link.link.title, startedAt: startedAt, end: end,
        policy: policy, hasWorld: true)
      var facts = link.told + link.world
      // The journals do not outlive the demo.
      for fact in facts.indices { facts[fact].line = nil }
      return TraceWriter.text(header, facts.inOrderOfTime())
    }
    do throws(CommandFailure) {
      try file.write(PictureFile.bytes(of: traces))
    } catch {
      throw .setup("the page was not written: \(error.cause)")
    }
  }
}
